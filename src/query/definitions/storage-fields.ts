/** Reads where a knowledge base is stored: in the embedded store, or in a connected PostgreSQL. */
import { type CatalogSnapshot, seenDataSource } from '../../core/domain/access/catalog-snapshot.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  KnowledgeBaseDraft,
} from '../../core/domain/knowledge-base.ts'
import { DEFAULT_LANGUAGE } from '../../core/domain/language.ts'
import { checkedName, FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import type { StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { AppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { CatalogDeps } from './define-database.ts'
import { FieldReader, type Fields, INVALID_KNOWLEDGE_BASE, invalidKnowledgeBase } from './fields.ts'
import { exportDefinition, fieldsOfExport, readExportDefinition } from './knowledge-base-fields.ts'

export const EMBEDDED = 'embedded'

interface Storage extends Pick<KnowledgeBaseDraft, 'vectorDatabase' | 'vectorDatabaseTable'> {
  /** The place in PostgreSQL; null for the embedded store. */
  readonly place: StoragePlace | null
  /** Whether all rows are also copied locally. */
  readonly isCopied: boolean
}

/** @throws AppError `missing_parameter`, `forbidden`, `invalid_knowledge_base` */
export function storageOf(
  storage: unknown,
  name: string,
  { catalog, author }: Pick<CatalogDeps, 'catalog' | 'author'>,
): Storage {
  if (storage === undefined || storage === null || storage === EMBEDDED) {
    return { vectorDatabase: 'duckdb', vectorDatabaseTable: name, place: null, isCopied: true }
  }
  const fields = typeof storage === 'string' ? storageOfName(storage) : storage
  const read = new FieldReader(isObject(fields) ? fields : {}, INVALID_KNOWLEDGE_BASE)
  read.allowOnly(new Set(['database', 'table', 'copy']), (name) => {
    return `Unknown field "${name}" in "storage"; expected "database" and "table"`
  })
  const isCopied = read.truth('copy') ?? true
  const database = read.text('database')
  const table = read.text('table')
  if (!database || !table) {
    const detail = 'Must provide "database" and "table" field in "storage" param'
    throw new AppError('missing_parameter', detail)
  }
  const isDefault = nameKey(database) === 'duckdb' && nameKey(table) === nameKey(name)
  if (author !== undefined && author.namespaces !== null && !isDefault) {
    // Projects share the names of storages, so naming one could reveal other projects.
    const message = `${author.name} may use some projects only and names no "storage": leave it out`
    throw new AppError('forbidden', message)
  }
  const vectorDatabaseTable = checkedName('storage table', table)
  const source = seenDataSource(catalog.snapshot(), database)
  if (source?.parameters.storage === true) {
    const place = { source, table: vectorDatabaseTable }
    return { vectorDatabase: source.name, vectorDatabaseTable, place, isCopied }
  }
  refuseOtherDatabase(database, catalog.snapshot())
  const vectorDatabase = checkedName('storage database', database)
  if (!isCopied) {
    const message = '"copy" is of a storage in a connected PostgreSQL: leave it out'
    throw invalidKnowledgeBase(message)
  }
  return { vectorDatabase, vectorDatabaseTable, place: null, isCopied }
}

/** Refuses a known database that cannot store vectors. @throws AppError `invalid_knowledge_base` */
function refuseOtherDatabase(database: string, snapshot: CatalogSnapshot): void {
  const { projects } = snapshot
  const key = nameKey(database)
  const source = seenDataSource(snapshot, database)
  const isProject = projects.some((project) => nameKey(project.name) === key)
  const isSystem = [FILES_DATABASE, 'information_schema', 'pg_catalog', 'temp', 'main'].includes(
    key,
  )
  if (!isProject && !isSystem && source === undefined) return
  const other = source === undefined ? 'a database of the system' : 'a connected database'
  const what = isProject ? 'a project' : other
  const permit = `ALTER DATABASE ${database} PARAMETERS = {"storage": true} permits it`
  const how =
    source?.engine === 'postgres'
      ? permit
      : 'leave "storage" out, or name a store: "duckdb", or a name of your own'
  throw invalidKnowledgeBase(
    `"storage" names ${database}, ${what}, which stores no vectors; ${how}`,
  )
}

function storageOfName(name: string): Fields {
  const [database, table, ...rest] = name.split('.')
  return rest.length > 0 ? {} : { database, table }
}

/** Another server defined it: how to reach its models from this one. */
const ATTACH_FIELDS = new Set(['name', 'storage', 'attach', 'embedding_model', 'reranking_model'])

/** Of the base stored there, overridden by those sent. @throws AppError `table_not_found`, … */
export async function attachedFields(
  sent: Fields,
  { name, place }: { readonly name: string; readonly place: StoragePlace | null },
  { storages }: Pick<CatalogDeps, 'storages'>,
): Promise<{ readonly fields: Fields; readonly dimensions: number | null }> {
  if (place === null) {
    const how = '"storage" names the connected database and the table that hold it'
    throw invalidKnowledgeBase(`"attach" takes a knowledge base that is there: ${how}`)
  }
  new FieldReader(sent, INVALID_KNOWLEDGE_BASE).allowOnly(ATTACH_FIELDS, (field) => {
    return `"${field}" is as the knowledge base was created: leave it out beside "attach"`
  })
  const definition = readExportDefinition(await storages.definitionOf(place))
  const { attach: _, ...own } = sent
  const fields = { ...fieldsOfExport(definition, name), ...own }
  return { fields, dimensions: definition.dimensions }
}

export async function createStored(
  draft: KnowledgeBaseDraft,
  {
    place,
    isAttached,
    isCopied,
  }: Pick<Storage, 'place' | 'isCopied'> & { readonly isAttached: boolean },
  { catalog, storages }: Pick<CatalogDeps, 'catalog' | 'storages'>,
): Promise<KnowledgeBase> {
  if (place === null) return catalog.createKnowledgeBase(draft)
  if (!isAttached) await storages.create(place, draftDefinition(draft), draft.dimensions)
  const undo = isAttached ? async () => {} : () => storages.remove(place)
  const remote = { attachment: crypto.randomUUID(), isCopied }
  let created: KnowledgeBase | null = null
  try {
    created = await catalog.createKnowledgeBase({ ...draft, remote })
    return await storages.fresh(created)
  } catch (error) {
    await undo().catch(() => {})
    if (created !== null) await catalog.dropKnowledgeBase(created)
    throw error
  }
}

export function changedDefinition(kb: KnowledgeBase, changes: KnowledgeBaseChanges): string {
  const { declaredColumns = [], embeddingModel: _, reembedding: __, ...changed } = changes
  const declared = declaredColumns.map((column) => ({ ...column, column: '', isDeclared: true }))
  const names = new Set(declared.map(({ name }) => nameKey(name)))
  const others = kb.storedMetadata.filter(({ name }) => !names.has(nameKey(name)))
  const storedMetadata = [...declared, ...others]
  return exportDefinition({ ...kb, ...changed, storedMetadata }, 0)
}

function draftDefinition(draft: KnowledgeBaseDraft): string {
  const declared = draft.declaredColumns ?? []
  const storedMetadata = declared.map((column) => ({ ...column, column: '', isDeclared: true }))
  // A language that was chosen is in the params.
  const language = { isLanguageKnown: false, language: DEFAULT_LANGUAGE }
  return exportDefinition({ ...draft, ...language, storedMetadata }, 0)
}
