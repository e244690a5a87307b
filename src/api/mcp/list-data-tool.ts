import { requireNamespace } from '../../core/domain/access/principal.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { contentColumnsOf } from './resources.ts'
import { answers, READS, type Tool, type ToolCall, takes } from './tool.ts'
import { type VisibleData, visibleData } from './visible-data.ts'

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
    const data = visibleData(uses.snapshot(principal), principal)
    const items = dataItems(data, call).filter(({ namespace }) => {
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

function cursorOffset(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor)
  throw new AppError(
    'invalid_request',
    '"cursor" must be the next_cursor from an answer of list_data',
  )
}

interface Item {
  readonly namespace: string
  readonly record: () => Promise<JsonObject>
}

function dataItems(data: VisibleData, call: ToolCall): readonly Item[] {
  const item = (namespace: string, record: JsonObject): Item => {
    return { namespace, record: async () => record }
  }
  return [
    ...data.knowledgeBases.map((kb) => {
      return { namespace: kb.projectName, record: () => knowledgeBaseRecord(kb, call) }
    }),
    ...data.tables.map(({ projectName, name, columns, rowCount }) => {
      const sized = { rows: rowCount, columns: columns.slice(0, LISTED_COLUMNS_MAX) }
      return item(projectName, { kind: 'table', name: `${projectName}.${name}`, ...sized })
    }),
    ...data.views.map(({ projectName, name, columns }) => {
      const shown = columns.slice(0, LISTED_COLUMNS_MAX)
      return item(projectName, { kind: 'view', name: `${projectName}.${name}`, columns: shown })
    }),
    ...data.files.map(({ name, columns, rowCount }) => {
      const named = columns.slice(0, LISTED_COLUMNS_MAX).map((column) => ({ name: column }))
      const file = { kind: 'file', name: sqlNameOfFile(name), rows: rowCount, columns: named }
      return item(FILES_DATABASE, file)
    }),
    ...data.dataSources.map(({ name, engine }) => {
      return item(name, { kind: 'database', name, engine })
    }),
    ...data.agents.map(({ projectName, name, data: reads }) => {
      const all = [...(reads?.knowledgeBases ?? []), ...(reads?.tables ?? [])]
      return item(projectName, { kind: 'agent', name: `${projectName}.${name}`, reads: all })
    }),
  ]
}

/** Quotes everything but a plain word. */
function sqlNameOfFile(name: string): string {
  const plain = /^[a-z_]\w*$/i.test(name)
  return `${FILES_DATABASE}.${plain ? name : `"${name.replaceAll('"', '""')}"`}`
}

async function knowledgeBaseRecord(kb: KnowledgeBase, { uses }: ToolCall): Promise<JsonObject> {
  return {
    kind: 'knowledge_base',
    name: `${kb.projectName}.${kb.name}`,
    ...(await uses.sizeOf(kb)),
    content_columns: contentColumnsOf(kb),
    columns: kb.storedMetadata
      .slice(0, LISTED_COLUMNS_MAX)
      .map(({ name, type }) => ({ name, type })),
  }
}
