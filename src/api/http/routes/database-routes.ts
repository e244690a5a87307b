/** The databases and their objects, in the form that existing clients browse. */
import { t } from 'elysia'
import {
  type CatalogSnapshot,
  findDataSource,
  findProject,
  ofProject,
  requireProject,
} from '../../../core/domain/access/catalog-snapshot.ts'
import { sees } from '../../../core/domain/access/principal.ts'
import type { DataSource, SourceTable } from '../../../core/domain/flow/source-parameters.ts'
import {
  DEFAULT_PROJECT,
  FILES_DATABASE,
  nameKey,
  type Project,
} from '../../../core/domain/names.ts'
import { tablesOfFile } from '../../../core/domain/uploaded-file.ts'
import { notFound } from '../../../core/errors.ts'
import { checkDatabase } from '../../../query/definitions/define-database.ts'
import {
  DATABASE,
  DATABASE_TABLES,
  TREE_NODE,
  TREE_ROOT,
} from '../answers/records/catalog-schemas.ts'
import { queryParameters, truth } from '../bodies/query-parameters.ts'
import type { RouteContext } from '../request/route-context.ts'
import { checkRecord, databaseRecord, statusRows } from './data-source-routes.ts'
import { resource } from './operation.ts'

const DATABASE_QUERY = queryParameters(
  {
    check_connection: truth({
      description: 'Connects to a data source and reports the result in `connection_status`',
      isLenient: true,
    }),
  },
  { ignoresOthers: true },
)
const TREE = queryParameters(
  {
    all_schemas: truth({
      description: 'For a data source, also lists the tables of its other schemas',
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

/** Added because existing clients fail on an empty list of nodes. */
const ALWAYS_THERE = treeNode('models', 'table', false)

function projectTree(snapshot: CatalogSnapshot, name: string) {
  if (name.toLowerCase() === FILES_DATABASE && findProject(snapshot, name) === undefined) {
    return snapshot.files.flatMap(tablesOfFile).map(({ name: table }) => treeNode(table, 'table'))
  }
  const project = requireProject(snapshot, name)
  return [
    ALWAYS_THERE,
    ...ofProject(snapshot.knowledgeBases, project).map((kb) => treeNode(kb.name, 'knowledge_base')),
    ...ofProject(snapshot.views, project).map((view) => treeNode(view.name, 'view')),
    ...ofProject(snapshot.tables, project).map((table) => treeNode(table.name, 'table')),
    ...ofProject(snapshot.agents, project).map((agent) => treeNode(agent.name, 'agent')),
  ]
}

/** The tables of a data source; on request, tables of other schemas too, below their schemas. */
function sourceTree(
  { engine }: DataSource,
  tables: readonly SourceTable[],
  hasAllSchemas: boolean,
) {
  const nodeOf = ({ name, kind, schema }: SourceTable) => {
    // Existing clients expect `children` on every node that can have some.
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

export const databaseOperations = resource('Databases', (api, context) => {
  api.get('/api/databases', {
    id: 'listDatabases',
    summary: 'List the databases',
    answers: { 200: ['Projects, data sources and built-in databases', t.Array(DATABASE)] },
    run: ({ request }) => databases(context, request),
  })
  api.get('/api/databases/:database_name', {
    id: 'getDatabase',
    summary: 'Get a database',
    query: DATABASE_QUERY,
    answers: { 200: ['The database', DATABASE] },
    async run({ request, params, snapshot, query, signal }) {
      const wanted = nameKey(params.database_name)
      const found = databases(context, request).find(({ name }) => nameKey(name) === wanted)
      if (found === undefined) throw notFound('database', params.database_name)
      const source = findDataSource(snapshot, params.database_name)
      if (source === undefined || !query.check_connection) return found
      const check = await checkDatabase(source, context.deps.catalog, signal)
      return { ...found, connection_status: checkRecord(check) }
    },
  })
  api.get('/api/sql/list_databases', {
    id: 'listDatabaseTables',
    summary: 'List the databases with their tables',
    answers: {
      200: ['The databases; one that does not respond is listed without tables', DATABASE_TABLES],
    },
    async run({ request }) {
      const sql = 'SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.tables'
      const tables = Map.groupBy(await statusRows(context, request, sql), ([schema]) => schema)
      const data = databases(context, request).map(({ name }) => {
        return { name, tables: (tables.get(name) ?? []).map(([, table]) => table) }
      })
      return { data }
    },
  })
  api.get('/api/tree', {
    id: 'listTreeRoots',
    summary: 'List the databases as roots of a tree',
    answers: { 200: ['The roots', t.Array(TREE_ROOT)] },
    run: ({ request }) => databases(context, request).map((one) => ({ ...one, class: 'db' })),
  })
  api.get('/api/tree/:database_name', {
    id: 'listTreeNodes',
    summary: 'List the objects of a database',
    query: TREE,
    answers: { 200: ['The objects', t.Array(TREE_NODE)] },
    async run({ params, snapshot, query, signal }) {
      const source = findDataSource(snapshot, params.database_name)
      if (source === undefined) return projectTree(snapshot, params.database_name)
      const tables = await context.deps.catalog.sources.tables(source, signal)
      return sourceTree(source, tables, query.all_schemas)
    },
  })
})
