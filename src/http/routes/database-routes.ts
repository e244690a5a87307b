/** The databases and their objects, as existing clients browse them. */
import {
  agentsOf,
  findProject,
  knowledgeBasesOf,
  requireProject,
  tablesOf,
  viewsOf,
} from '../../domain/catalog-snapshot.ts'
import { DEFAULT_PROJECT, FILES_DATABASE, type Project } from '../../domain/project.ts'
import { tablesOfFile } from '../../domain/uploaded-file.ts'
import { route } from '../openapi.ts'
import type { AddRoutes, RouteContext } from '../route-context.ts'

const tag = 'Databases'

function projectDatabase(project: Project) {
  const deletable = project.name !== DEFAULT_PROJECT
  const { id, name } = project
  return { name, type: 'project', id, engine: null, visible: true, deletable }
}

function systemDatabase(name: string, type: 'data' | 'system') {
  return {
    name,
    type,
    id: null,
    engine: type === 'data' ? name : null,
    visible: true,
    deletable: false,
  }
}

function databases(context: RouteContext) {
  return [
    systemDatabase('information_schema', 'system'),
    ...context.snapshot().projects.map(projectDatabase),
    systemDatabase(FILES_DATABASE, 'data'),
  ]
}

function treeNode(name: string, type: string, deletable = true) {
  return { name, schema: null, class: 'table', type, engine: null, deletable }
}

/** Existing clients fail on an empty list of nodes. */
const ALWAYS_THERE = treeNode('models', 'table', false)

function tree(context: RouteContext, name: string) {
  const snapshot = context.snapshot()
  if (name.toLowerCase() === FILES_DATABASE && findProject(snapshot, name) === undefined) {
    return snapshot.files.flatMap(tablesOfFile).map(({ name: table }) => treeNode(table, 'table'))
  }
  const project = requireProject(snapshot, name)
  return [
    ALWAYS_THERE,
    ...knowledgeBasesOf(snapshot, project).map((kb) => treeNode(kb.name, 'knowledge_base')),
    ...viewsOf(snapshot, project).map((view) => treeNode(view.name, 'view')),
    ...tablesOf(snapshot, project).map((table) => treeNode(table.name, 'table')),
    ...agentsOf(snapshot, project).map((agent) => treeNode(agent.name, 'agent')),
  ]
}

export const addDatabaseRoutes: AddRoutes = (app, context) => {
  app.get(
    '/api/databases',
    () => Response.json(databases(context)),
    route({
      summary: 'List the databases',
      tag,
      answers: { 200: 'Projects and built-in databases' },
    }),
  )
  app.get(
    '/api/databases/:database_name',
    ({ params }) => {
      const wanted = params.database_name.toLowerCase()
      const found = databases(context).find(({ name }) => name.toLowerCase() === wanted)
      const project = () =>
        projectDatabase(requireProject(context.snapshot(), params.database_name))
      return Response.json(found ?? project())
    },
    route({
      summary: 'Get a database',
      tag,
      answers: { 200: 'The database', 404: 'No such database' },
    }),
  )
  app.get(
    '/api/tree',
    () => Response.json(databases(context).map((database) => ({ ...database, class: 'db' }))),
    route({
      summary: 'List the databases, as roots of a tree',
      tag,
      answers: { 200: 'The roots' },
    }),
  )
  app.get(
    '/api/tree/:database_name',
    ({ params }) => Response.json(tree(context, params.database_name)),
    route({
      summary: 'List the objects of a database',
      tag,
      answers: { 200: 'The objects', 404: 'No such database' },
    }),
  )
}
