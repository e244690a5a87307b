/** What existing clients read to find out what SQL can name. */
import {
  agentsOf,
  findProject,
  knowledgeBasesOf,
  requireProject,
  tablesOf,
  viewsOf,
} from '../../domain/catalog-snapshot.ts'
import { DEFAULT_PROJECT, type Project } from '../../domain/project.ts'
import { type AddRoutes, type Edge, snapshotOf } from '../edge.ts'
import { route } from '../openapi.ts'

const FILES = 'files'

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

function databases(edge: Edge) {
  return [
    systemDatabase('information_schema', 'system'),
    ...snapshotOf(edge).projects.map(projectDatabase),
    systemDatabase(FILES, 'data'),
  ]
}

function treeNode(name: string, type: string, deletable = true) {
  return { name, schema: null, class: 'table', type, engine: null, deletable }
}

/** A client that reads the type of each node cannot read a list without any. */
const ALWAYS_THERE = treeNode('models', 'table', false)

function tree(edge: Edge, name: string) {
  const snapshot = snapshotOf(edge)
  if (name.toLowerCase() === FILES && findProject(snapshot, name) === undefined) {
    return snapshot.files.map((file) => treeNode(file.name, 'table'))
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

export const addDatabaseRoutes: AddRoutes = (app, edge) => {
  app.get(
    '/api/databases',
    () => Response.json(databases(edge)),
    route({ summary: 'List what SQL can name', tag, answers: { 200: 'Projects and databases' } }),
  )
  app.get(
    '/api/databases/:database_name',
    ({ params }) => {
      const wanted = params.database_name.toLowerCase()
      const found = databases(edge).find((one) => one.name.toLowerCase() === wanted)
      const project = () => projectDatabase(requireProject(snapshotOf(edge), params.database_name))
      return Response.json(found ?? project())
    },
    route({
      summary: 'Read about a database',
      tag,
      answers: { 200: 'Its record', 404: 'None such' },
    }),
  )
  app.get(
    '/api/tree',
    () => Response.json(databases(edge).map((one) => ({ ...one, class: 'db' }))),
    route({ summary: 'List what SQL can name, as a tree', tag, answers: { 200: 'Its roots' } }),
  )
  app.get(
    '/api/tree/:database_name',
    ({ params }) => Response.json(tree(edge, params.database_name)),
    route({
      summary: 'List what is in a database',
      tag,
      answers: { 200: 'Nodes', 404: 'None such' },
    }),
  )
}
