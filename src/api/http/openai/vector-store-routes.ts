/** OpenAI's `/v1/vector_stores`: knowledge bases. */
import { type Static, t } from 'elysia'
import { findKnowledgeBase, findProject } from '../../../core/domain/access/catalog-snapshot.ts'
import {
  mayName,
  type Principal,
  requireNamespace,
  requireScope,
} from '../../../core/domain/access/principal.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { DEFAULT_PROJECT, FILES_DATABASE } from '../../../core/domain/project.ts'
import { AppError } from '../../../core/errors.ts'
import {
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
} from '../../../query/definitions/define-knowledge-base.ts'
import { bodySchema } from '../bodies/body.ts'
import { resource } from '../openapi/operation.ts'
import type { RouteContext } from '../request/route-context.ts'
import { maybe, open } from '../request/schema-words.ts'
import { ATTRIBUTES_SCHEMA, checkedPairs } from './attributes.ts'
import { filesToAttach, SENT_FILES_MAX } from './files-to-attach.ts'
import { listSchema, PAGE, pageOf, pageOrderOf, pageRecord } from './list-page.ts'
import { idOf } from './named-models.ts'
import {
  CHUNKING_SCHEMA,
  preprocessingFieldOf,
  requireStore,
  STORE_SCHEMA,
  storeFactsOf,
  storeRecord,
} from './store-record.ts'

const ALL = '/v1/vector_stores'
const ONE = `${ALL}/:vector_store_id` as const

const NAME_CHARS_MAX = 512

const optional = {
  text: () => maybe(t.String({ maxLength: NAME_CHARS_MAX })),
  pairs: () => maybe(ATTRIBUTES_SCHEMA),
  chunking: () => maybe(CHUNKING_SCHEMA),
  refused: () => t.Optional(t.Unknown({ description: 'Refused: nothing expires here' })),
}

const CREATE = bodySchema(
  open({
    name: optional.text(),
    description: optional.text(),
    file_ids: maybe(t.Array(t.String(), { maxItems: SENT_FILES_MAX })),
    chunking_strategy: optional.chunking(),
    metadata: optional.pairs(),
    expires_after: optional.refused(),
  }),
)
const MODIFY = bodySchema(
  open({
    name: optional.text(),
    metadata: optional.pairs(),
    expires_after: optional.refused(),
  }),
)

const DELETED = t.Object({
  id: t.String(),
  object: t.Literal('vector_store.deleted'),
  deleted: t.Literal(true),
})

export const vectorStoreOperations = resource('OpenAI', (api, context) => {
  api.get(ALL, {
    id: 'listVectorStores',
    summary: 'List knowledge bases as vector stores',
    query: PAGE,
    answers: { 200: ['Those of the page', listSchema(STORE_SCHEMA)] },
    async run({ request, principal, signal }) {
      const kbs = context
        .snapshot()
        .knowledgeBases.filter(({ projectName }) => mayName(principal, projectName))
        .toSorted((one, other) => one.id - other.id)
      const { items: shown, hasMore } = pageOf(kbs, idOf, pageOrderOf(PAGE.read(request)))
      const items = []
      for (const kb of shown) {
        const record = await storeRecord(context, kb, signal).catch(goneAsNull)
        if (record !== null) items.push(record)
      }
      return pageRecord({ items, hasMore })
    },
  })
  api.post(ALL, {
    id: 'createVectorStore',
    summary: 'Create a knowledge base as a vector store',
    description:
      'The id is made of the name: letters, digits, `_` and `-` of it, and a number where it is taken. A name `project.name` creates it in that project, any other in the default one.',
    body: CREATE,
    answers: {
      200: ['The vector store', STORE_SCHEMA],
      400: 'A field is wrong',
      404: 'No such file',
    },
    async run({ body: sent, principal, signal }) {
      refuseExpiry(sent.expires_after)
      const fileIds = sent.file_ids ?? []
      if (fileIds.length > 0) {
        requireNamespace(principal, FILES_DATABASE)
        requireScope(principal, 'read')
      }
      const files = filesToAttach(context.snapshot(), fileIds)
      const kb = await created(context, principal, sent)
      if (files.length > 0) await context.deps.attachments.attach({ kb, files, isBatch: false })
      return await storeRecord(context, kb, signal)
    },
  })
  const storeAt = (request: Request, id: string): KnowledgeBase => {
    return requireStore(context.snapshot(), context.scopeOf(request).principal, id)
  }
  api.get(ONE, {
    id: 'getVectorStore',
    summary: 'Get a vector store',
    answers: { 200: ['The vector store', STORE_SCHEMA] },
    async run({ request, params, signal }) {
      const kb = storeAt(request, params.vector_store_id)
      return await storeRecord(context, kb, signal)
    },
  })
  api.post(ONE, {
    id: 'modifyVectorStore',
    summary: 'Change name or metadata of a vector store; its id stays',
    body: MODIFY,
    answers: { 200: ['The vector store', STORE_SCHEMA] },
    async run({ request, params, body: sent, principal, signal }) {
      storeAt(request, params.vector_store_id)
      refuseExpiry(sent.expires_after)
      const kb = storeAt(request, params.vector_store_id)
      const facts = storeFactsOf(kb)
      const catalog = context.deps.catalogFor(principal)
      const altered = await alterKnowledgeBase(
        kb,
        {
          vector_store: {
            ...facts,
            ...(sent.name ? { name: sent.name } : {}),
            ...(sent.metadata === undefined
              ? {}
              : { metadata: checkedPairs(sent.metadata, 'metadata') }),
          },
        },
        catalog,
      )
      return await storeRecord(context, altered, signal)
    },
  })
  api.delete(ONE, {
    id: 'deleteVectorStore',
    summary: 'Delete a vector store and its documents; uploaded files stay',
    answers: { 200: ['It is deleted', DELETED] },
    async run({ request, params, principal }) {
      const kb = storeAt(request, params.vector_store_id)
      await dropKnowledgeBase(kb, context.deps.catalogFor(principal))
      return { id: idOf(kb), object: 'vector_store.deleted', deleted: true }
    },
  })
})

/** One that was dropped since the list was made. */
function goneAsNull(error: unknown): null {
  if (error instanceof AppError && error.code === 'knowledge_base_not_found') return null
  throw error
}

function refuseExpiry(sent: unknown): void {
  if (sent === null || sent === undefined) return
  const message = 'Vector stores do not expire here: leave "expires_after" away'
  throw new AppError('invalid_request', message, { param: 'expires_after' })
}

const NAME_TRIES_MAX = 1000

/** @throws AppError `forbidden`, those of `createKnowledgeBase` */
async function created(
  { deps, snapshot }: RouteContext,
  principal: Principal,
  sent: Static<typeof CREATE.schema> & SentStore,
): Promise<KnowledgeBase> {
  const metadata = checkedPairs(sent.metadata, 'metadata')
  const preprocessing = preprocessingFieldOf(sent.chunking_strategy)
  const { projectName, base } = placeOf(sent.name ?? '')
  requireNamespace(principal, projectName)
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? base : `${base}_${count}`
    const facts = { name: sent.name || name, description: sent.description ?? null, metadata }
    const fields = { name, vector_store: facts, ...(preprocessing && { preprocessing }) }
    const project = findProject(snapshot(), projectName)
    const isTaken = project !== undefined && findKnowledgeBase(snapshot(), project, name)
    if (isTaken && count < NAME_TRIES_MAX) continue
    try {
      return await createKnowledgeBase(projectName, fields, deps.catalogFor(principal))
    } catch (error) {
      // Another request was faster.
      const isClash = error instanceof AppError && CLASHES.has(error.code)
      if (!isClash || count >= NAME_TRIES_MAX) throw error
    }
  }

  function placeOf(name: string) {
    const [first = '', second = '', ...others] = name.split('.')
    const isPlace = others.length === 0 && second !== '' && mayName(principal, first)
    const project = isPlace ? findProject(snapshot(), first) : undefined
    if (project !== undefined) return { projectName: project.name, base: idNameOf(second) }
    return { projectName: DEFAULT_PROJECT, base: idNameOf(name) }
  }
}

interface SentStore {
  readonly name?: string | null
  readonly description?: string | null
  readonly metadata?: Readonly<Record<string, unknown>> | null
  readonly chunking_strategy?: Static<typeof CHUNKING_SCHEMA> | null
}

const CLASHES: ReadonlySet<string> = new Set(['knowledge_base_exists', 'storage_in_use'])

const ID_CHARS_MAX = 80

/** What can stand in a path as it is. */
function idNameOf(name: string): string {
  const plain = name
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}_-]+/gu, '_')
  const short = [...plain]
    .slice(0, ID_CHARS_MAX)
    .join('')
    .replaceAll(/^_+|_+$/g, '')
  return short === '' ? `vs_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}` : short
}
