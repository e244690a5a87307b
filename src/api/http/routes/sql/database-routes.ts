/** The databases and their objects, as existing clients browse them. */
import { t } from 'elysia'
import {
  agentsOf,
  type CatalogSnapshot,
  findDataSource,
  findProject,
  knowledgeBasesOf,
  projectTables,
  requireProject,
  viewsOf,
} from '../../../../core/domain/access/catalog-snapshot.ts'
import { sees } from '../../../../core/domain/access/principal.ts'
import type { DataSource, SourceTable } from '../../../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../../../core/domain/identifier.ts'
import { DEFAULT_PROJECT, FILES_DATABASE, type Project } from '../../../../core/domain/project.ts'
import { tablesOfFile } from '../../../../core/domain/uploaded-file.ts'
import { notFound } from '../../../../core/errors.ts'
import { checkDatabase } from '../../../../query/definitions/define-database.ts'
import {
  DATABASE,
  DATABASE_TABLES,
  TREE_NODE,
  TREE_ROOT,
} from '../../answers/records/catalog-schemas.ts'
import { queryParameters, truth } from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'
import { checkRecord, databaseRecord, rowsOf } from './data-source-routes.ts'

const tag = 'Databases'
const ONE = queryParameters(
  {
    check_connection: truth({
      description: 'Connects to a data source, and tells by `connection_status` whether that works',
      isLenient: true,
    }),
  },
  { ignoresOthers: true },
)
const TREE = queryParameters(
  {
    all_schemas: truth({
      description: 'Of a data source, the tables of its other schemas, too',
      isLenient: true,
    }),
  },
  { ignoresOthers: true },
)

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

function databases(context: RouteContext, request: Request) {
  const { projects, dataSources, limits } = context.snapshotFor(request)
  const hasFiles = sees(limits?.rights, FILES_DATABASE)
  return [
    systemDatabase('information_schema', 'system'),
    ...projects.map(projectDatabase),
    ...(hasFiles ? [systemDatabase(FILES_DATABASE, 'data')] : []),
    ...dataSources.map(databaseRecord),
  ]
}

function treeNode(name: string, type: string, deletable = true) {
  return { name, schema: null, class: 'table', type, engine: null, deletable }
}

/** Existing clients fail on an empty list of nodes. */
const ALWAYS_THERE = treeNode('models', 'table', false)

function projectTree(snapshot: CatalogSnapshot, name: string) {
  if (name.toLowerCase() === FILES_DATABASE && findProject(snapshot, name) === undefined) {
    return snapshot.files.flatMap(tablesOfFile).map(({ name: table }) => treeNode(table, 'table'))
  }
  const project = requireProject(snapshot, name)
  return [
    ALWAYS_THERE,
    ...knowledgeBasesOf(snapshot, project).map((kb) => treeNode(kb.name, 'knowledge_base')),
    ...viewsOf(snapshot, project).map((view) => treeNode(view.name, 'view')),
    ...projectTables(snapshot, project).map((table) => treeNode(table.name, 'table')),
    ...agentsOf(snapshot, project).map((agent) => treeNode(agent.name, 'agent')),
  ]
}

/** The tables of a data source; those of other schemas below these, where all schemas are wanted. */
function sourceTree(
  { engine }: DataSource,
  tables: readonly SourceTable[],
  hasAllSchemas: boolean,
) {
  const nodeOf = ({ name, kind, schema }: SourceTable) => {
    // Existing clients look for the children of each node, where one has some.
    const children = hasAllSchemas ? { children: [] } : {}
    return { ...treeNode(name, kind, false), schema, engine, ...children }
  }
  const own = tables.filter(({ schema }) => schema === null).map(nodeOf)
  if (!hasAllSchemas) return own
  const schemas = Map.groupBy(
    tables.filter(({ schema }) => schema !== null),
    ({ schema }) => schema,
  )
  const others = [...schemas].map(([schema, inside]) => ({
    ...treeNode(schema ?? '', 'schema', false),
    class: 'schema',
    engine,
    children: inside.map(nodeOf),
  }))
  return [...own, ...others]
}

export const addDatabaseRoutes: AddRoutes = (app, context) => {
  app.get(
    '/api/databases',
    ({ request }) => Response.json(databases(context, request)),
    route({
      needs: 'read',
      id: 'listDatabases',
      summary: 'List the databases',
      tag,
      answers: {
        200: {
          description: 'Projects, data sources and built-in databases',
          schema: t.Array(DATABASE),
        },
      },
    }),
  )
  app.get(
    '/api/databases/:database_name',
    async ({ params, request }) => {
      const wanted = nameKey(params.database_name)
      const found = databases(context, request).find(({ name }) => nameKey(name) === wanted)
      if (found === undefined) throw notFound('database', params.database_name)
      const source = findDataSource(context.snapshot(), params.database_name)
      if (source === undefined || !ONE.read(request).check_connection) return Response.json(found)
      const { signal } = context.scopeOf(request)
      const check = await checkDatabase(source, context.deps.catalog, signal)
      return Response.json({ ...found, connection_status: checkRecord(check) })
    },
    route({
      needs: 'read',
      id: 'getDatabase',
      summary: 'Get a database',
      tag,
      query: ONE,
      answers: { 200: { description: 'The database', schema: DATABASE }, 404: 'No such database' },
    }),
  )
  app.get(
    '/api/sql/list_databases',
    async ({ request }) => {
      const sql = 'SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.tables'
      const tables = Map.groupBy(await rowsOf(context, request, sql), ([schema]) => schema)
      const data = databases(context, request).map(({ name }) => {
        return { name, tables: (tables.get(name) ?? []).map(([, table]) => table) }
      })
      return Response.json({ data })
    },
    route({
      needs: 'read',
      id: 'listDatabaseTables',
      summary: 'List the databases with their tables',
      tag,
      answers: {
        200: {
          description: 'The databases; one that does not answer has no tables',
          schema: DATABASE_TABLES,
        },
      },
    }),
  )
  app.get(
    '/api/tree',
    ({ request }) => {
      const all = databases(context, request)
      return Response.json(all.map((database) => ({ ...database, class: 'db' })))
    },
    route({
      needs: 'read',
      id: 'listTreeRoots',
      summary: 'List the databases, as roots of a tree',
      tag,
      answers: { 200: { description: 'The roots', schema: t.Array(TREE_ROOT) } },
    }),
  )
  app.get(
    '/api/tree/:database_name',
    async ({ params, request }) => {
      const snapshot = context.snapshot()
      const source = findDataSource(snapshot, params.database_name)
      if (source === undefined) return Response.json(projectTree(snapshot, params.database_name))
      const { signal } = context.scopeOf(request)
      const tables = await context.deps.catalog.sources.tables(source, signal)
      return Response.json(sourceTree(source, tables, TREE.read(request).all_schemas))
    },
    route({
      needs: 'read',
      id: 'listTreeNodes',
      summary: 'List the objects of a database',
      tag,
      query: TREE,
      answers: {
        200: { description: 'The objects', schema: t.Array(TREE_NODE) },
        404: 'No such database',
      },
    }),
  )
}
