import { requireNamespace } from '../../core/domain/access/principal.ts'
import { fullName, nameKey, quote } from '../../core/domain/names.ts'
import type { JsonObject } from '../../core/json.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { answers, type McpUses, READS, type Tool, takes } from './tool.ts'
import {
  contentColumnsOf,
  cursorOffset,
  type Relation,
  relationsOf,
  type VisibleData,
  visibleData,
} from './visible-data.ts'

const ITEMS_UNSET = 100
const ITEMS_MAX = 500
const LISTED_COLUMNS_MAX = 100
const AT_ONCE_MAX = 4

export const LIST_DATA_TOOL: Tool = {
  name: 'list_data',
  title: 'List data',
  description:
    'Lists the data: knowledge bases with their columns and sizes, tables, views and uploaded files with their columns, databases, ' +
    'agents, and projects. Call it first if you do not know a name or a column.',
  needs: 'read',
  annotations: READS,
  inputSchema: takes([], {
    project: {
      type: 'string',
      description: 'Only this project, "files", or this database',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: ITEMS_MAX,
      description: `Maximum number of items; default ${ITEMS_UNSET}`,
    },
    cursor: { type: 'string', description: 'next_cursor of the previous page' },
  }),
  outputSchema: answers(['projects', 'items', 'total', 'next_cursor'], {
    projects: { type: 'array', items: { type: 'string' } },
    items: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          kind: {
            type: 'string',
            enum: ['knowledge_base', 'table', 'view', 'file', 'database', 'agent'],
          },
          name: { type: 'string', description: 'The name, as tools and SQL expect it' },
          columns: {
            type: 'array',
            items: {
              type: 'object',
              properties: { name: { type: 'string' }, type: { type: 'string' } },
              required: ['name'],
            },
          },
          content_columns: { type: 'array', items: { type: 'string' } },
          documents: { type: 'integer' },
          chunks: { type: 'integer' },
          rows: { type: 'integer' },
          engine: { type: 'string' },
          reads: { type: 'array', items: { type: 'string' } },
        },
        required: ['kind', 'name'],
      },
    },
    total: { type: 'integer' },
    next_cursor: { type: ['string', 'null'] },
  }),
  async run(sent, call) {
    const { uses, principal, signal } = call
    const project = sent.optionalText('project')
    if (project !== undefined) requireNamespace(principal, project)
    const data = visibleData(call)
    const items = dataItems(data, uses).filter(({ namespace }) => {
      return project === undefined || nameKey(namespace) === nameKey(project)
    })
    const start = cursorOffset(sent.optionalText('cursor'))
    const end = start + (sent.number('limit') ?? ITEMS_UNSET)
    const bounds = { concurrencyMax: AT_ONCE_MAX, signal }
    const shown = await mapConcurrent(items.slice(start, end), bounds, ({ record }) => record())
    return {
      structured: {
        projects: data.projects.map(({ name }) => name),
        items: shown,
        total: items.length,
        next_cursor: end < items.length ? String(end) : null,
      },
    }
  },
}

interface Item {
  readonly namespace: string
  readonly record: () => Promise<JsonObject>
}

function dataItems(data: VisibleData, uses: McpUses): readonly Item[] {
  return [
    ...relationsOf(data).map((relation) => {
      return { namespace: relation.namespace, record: () => relationRecord(relation, uses) }
    }),
    ...data.dataSources.map(({ name, engine }) => {
      return { namespace: name, record: async () => ({ kind: 'database', name, engine }) }
    }),
    ...data.agents.map((agent) => {
      const { knowledgeBases = [], tables = [] } = agent.data ?? {}
      const reads = [...knowledgeBases, ...tables]
      const record = async () => ({ kind: 'agent', name: fullName(agent), reads })
      return { namespace: agent.projectName, record }
    }),
  ]
}

async function relationRecord(
  { kind, namespace, name, columns, rows, kb }: Relation,
  uses: McpUses,
): Promise<JsonObject> {
  // File names are quoted unless they are plain words.
  const isQuoted = kind === 'file' && !/^[a-z_]\w*$/i.test(name)
  return {
    kind,
    name: `${namespace}.${isQuoted ? quote(name) : name}`,
    ...(kb && { ...(await uses.sizeOf(kb)), content_columns: contentColumnsOf(kb) }),
    ...(rows === undefined ? {} : { rows }),
    columns: columns.slice(0, LISTED_COLUMNS_MAX),
  }
}
