/** Converts sources of knowledge bases from the API's fields and back. */

import { MASK } from '../../core/domain/flow/source-parameters.ts'
import {
  SOURCE_KINDS,
  type SourceKind,
  type SyncRun,
  type SyncSource,
  type SyncSourceChanges,
  type SyncSourceDraft,
} from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { checkedName, nameKey } from '../../core/domain/names.ts'
import type { SourceKeeping } from '../../core/domain/ports/job-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { definedFields, isObject } from '../../core/json.ts'
import { checkedSchedule } from '../../core/runtime/schedule-times.ts'
import { millisOf } from '../../core/time.ts'
import { FieldReader, type Fields } from './fields.ts'

const INVALID_SOURCE = 'invalid_source'

/** The parameters of each kind of source. The first one is required. */
const PARAMETERS: Readonly<Record<SourceKind, readonly string[]>> = {
  folder: ['path', 'include', 'exclude', 'hidden'],
  url: ['url', 'headers'],
  sitemap: ['url', 'include', 'exclude', 'headers', 'limit'],
  site: ['url', 'limit', 'crawl_depth', 'filters'],
  query: ['query', 'track_column'],
  table: ['table', 'track_column'],
}

const COMMON = ['name', 'kind', 'schedule', 'watch', 'remove_vanished', 'allow_empty']
/** Fields that appear only in responses. Clients that save what they read send them back. */
const SHOWN_ONLY = new Set(
  'id knowledge_base project created_at updated_at next_run_at watching watch_note last_run job_id'.split(
    ' ',
  ),
)
const GLOBS_MAX = 1000
const GLOB_CHARS_MAX = 1000
const PARAMETER_CHARS_MAX = 1_000_000
const LIMIT_MAX = 1_000_000
const CRAWL_DEPTH_MAX = 1000

/** @throws AppError `invalid_source`, `invalid_name`, `unknown_field` */
function sourceDraft(knowledgeBaseId: number, fields: Fields): SyncSourceDraft {
  const read = new FieldReader(fields, INVALID_SOURCE)
  const name = read.text('name')
  if (name === undefined) throw invalidSource('A source needs the field "name"')
  const kind = sourceKind(read.text('kind'))
  refuseUnknown(fields, kind)
  return {
    knowledgeBaseId,
    name: checkedName('source', name),
    kind,
    parameters: parametersOf(kind, fields),
    schedule: scheduleOf(read),
    isWatched: watchOf(read, kind) ?? false,
    removesVanished: read.truth('remove_vanished') ?? true,
  }
}

/** An empty schedule removes it. @throws AppError like `sourceDraft` */
function sourceChanges(source: SyncSource, fields: Fields): SyncSourceChanges {
  const read = new FieldReader(fields, INVALID_SOURCE)
  const kind = read.text('kind')
  if (kind !== undefined && sourceKind(kind) !== source.kind) {
    throw invalidSource(`A ${source.kind} cannot become a ${sourceKind(kind)}: make another source`)
  }
  refuseUnknown(fields, source.kind)
  const name = read.text('name')
  const isWatched = watchOf(read, source.kind)
  const removesVanished = read.truth('remove_vanished')
  const sent = Object.entries(fields).filter(([field, value]) => {
    return isParameter(source.kind, field) && value !== null && value !== undefined
  })
  const parameters = parametersOf(
    source.kind,
    { ...source.parameters, ...Object.fromEntries(sent) },
    source.parameters,
  )
  return {
    ...(name === undefined ? {} : { name: checkedName('source', name) }),
    ...(sent.length === 0 ? {} : { parameters }),
    ...('schedule' in fields ? { schedule: scheduleOf(read) } : {}),
    ...definedFields({ isWatched, removesVanished }),
  }
}

function sourceKind(kind: string | undefined): SourceKind {
  const known = SOURCE_KINDS.find((one) => one === kind?.trim().toLowerCase())
  if (known !== undefined) return known
  const found = kind === undefined ? 'it is missing' : `found ${JSON.stringify(kind.slice(0, 40))}`
  throw invalidSource(`Field "kind" must be one of ${SOURCE_KINDS.join(', ')}; ${found}`)
}

function refuseUnknown(fields: Fields, kind: SourceKind): void {
  const known = new Set([...COMMON, ...PARAMETERS[kind], ...SHOWN_ONLY])
  const read = new FieldReader(fields, INVALID_SOURCE)
  read.allowOnly(known, (name) => {
    const expected = [...COMMON, ...PARAMETERS[kind]].join(', ')
    return `Unknown field "${name.slice(0, 80)}" of a source of the kind ${kind}; expected ${expected}`
  })
}

function isParameter(kind: SourceKind, field: string): boolean {
  return PARAMETERS[kind].includes(field) || field === 'allow_empty'
}

const SCHEDULE_RULES = { secondsMin: 10, code: INVALID_SOURCE } as const

function scheduleOf(read: FieldReader): string | null {
  const text = read.text('schedule')
  return text === undefined || text.trim() === '' ? null : checkedSchedule(text, SCHEDULE_RULES)
}

function watchOf(read: FieldReader, kind: SourceKind): boolean | undefined {
  const isWatched = read.truth('watch')
  if (isWatched === true && kind !== 'folder') {
    throw invalidSource(`Only a folder is watched; a ${kind} runs by its "schedule"`)
  }
  return isWatched
}

/** @param stored the current parameters, which replace masked headers */
function parametersOf(
  kind: SourceKind,
  fields: Fields,
  stored: Fields = {},
): SyncSource['parameters'] {
  const read = new FieldReader(fields, INVALID_SOURCE)
  const [needed = ''] = PARAMETERS[kind]
  const text = read.text(needed)?.trim() ?? ''
  if (text === '') throw invalidSource(`A source of the kind ${kind} needs the field "${needed}"`)
  if (text.length > PARAMETER_CHARS_MAX) throw invalidSource(`Field "${needed}" is too long`)
  const parameters: Record<string, unknown> = { [needed]: text }
  const keep = (name: string, value: unknown) => {
    if (value !== undefined) parameters[name] = value
  }
  keep('allow_empty', read.truth('allow_empty'))
  for (const name of PARAMETERS[kind].slice(1)) keep(name, sourceParameter(name, read, stored))
  if (kind === 'url' || kind === 'sitemap' || kind === 'site') checkUrl(text, stored, fields)
  return parameters
}

function sourceParameter(name: string, read: FieldReader, stored: Fields): unknown {
  switch (name) {
    case 'include':
    case 'exclude':
      return checkedGlobs(name, read.textList(name))
    case 'hidden':
      return read.truth(name)
    case 'limit':
      return read.integer(name, { min: 1, max: LIMIT_MAX })
    case 'crawl_depth':
      return read.integer(name, { min: 0, max: CRAWL_DEPTH_MAX })
    case 'headers':
      return headersOf(read.object(name), stored.headers)
    case 'filters':
      return filtersOf(read)
    default:
      return read.text(name)
  }
}

function checkedGlobs(name: string, globs: readonly string[] | undefined) {
  const isLong = globs?.some((glob) => glob.length > GLOB_CHARS_MAX || glob === '') ?? false
  if (!isLong && (globs?.length ?? 0) <= GLOBS_MAX) return globs
  const limit = `at most ${GLOBS_MAX} patterns of 1 to ${GLOB_CHARS_MAX} characters`
  throw invalidSource(`Field "${name}" holds ${limit}`)
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/
/** Headers that clients cannot set, because the request sets them. */
const OWN_HEADERS = /^(?:host|connection|content-length|transfer-encoding|te|upgrade|if-.*|range)$/i

function headersOf(headers: Fields | undefined, stored: unknown): Fields | undefined {
  if (headers === undefined) return undefined
  const known = isObject(stored) ? stored : {}
  const entries = Object.entries(headers).map(([name, value]) => {
    const isText = typeof value === 'string' && value.length <= 8192 && !/[\r\n\0]/.test(value)
    if (!isText || !HEADER_NAME.test(name) || OWN_HEADERS.test(name)) {
      const what = 'names of HTTP headers and their values as texts of one line'
      throw invalidSource(`Field "headers" must hold ${what}; "${name.slice(0, 40)}" is not`)
    }
    return [name, value === MASK ? known[name] : value] as const
  })
  const lost = entries.find(([, value]) => value === undefined)
  if (lost !== undefined) throw invalidSource(`The header "${lost[0]}" must be sent again`)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Reads patterns, or `{allowed_domains: […]}` as in PUT of a knowledge base. */
function filtersOf(read: FieldReader): unknown {
  try {
    return read.textList('filters')
  } catch {
    const filters = new FieldReader(read.object('filters') ?? {}, INVALID_SOURCE)
    filters.allowOnly(new Set(['allowed_domains']), (name) => `Unknown field "filters.${name}"`)
    return { allowed_domains: filters.textList('allowed_domains') ?? [] }
  }
}

/** Headers contain secrets, so a user who changes the address must send them again. */
function checkUrl(text: string, stored: Fields, fields: Fields): void {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidSource('Field "url" must be an http or https address')
  }
  if (url.username !== '' || url.password !== '') {
    const hint = 'a key belongs into "headers"'
    throw invalidSource(`Field "url" must not hold a user name or a password; ${hint}`)
  }
  const before = typeof stored.url === 'string' ? new URL(stored.url).origin : url.origin
  if (before === url.origin || !isObject(stored.headers) || !isObject(fields.headers)) return
  const isKept = Object.entries(fields.headers).some(([name, value]) => {
    return isObject(stored.headers) && (value === MASK || value === stored.headers[name])
  })
  if (isKept) throw invalidSource('Field "headers" must be sent again: "url" is at another host')
}

/** Finds a source by its name or id. @throws AppError `source_not_found` */
export function requireSource(
  kb: KnowledgeBase,
  nameOrId: string,
  sources: Pick<SourceKeeping, 'list'>,
): SyncSource {
  const all = sources.list(kb)
  const key = nameKey(nameOrId)
  const found =
    all.find(({ name }) => nameKey(name) === key) ?? all.find(({ id }) => String(id) === nameOrId)
  if (found === undefined) throw notFound('source', nameOrId)
  return found
}

export function createSource(
  kb: KnowledgeBase,
  fields: Fields,
  sources: Pick<SourceKeeping, 'create'>,
): Promise<SyncSource> {
  return sources.create(sourceDraft(kb.id, fields))
}

export function alterSource(
  source: SyncSource,
  fields: Fields,
  sources: Pick<SourceKeeping, 'change'>,
): Promise<SyncSource> {
  return sources.change(source, sourceChanges(source, fields))
}

export async function declareSources(
  kb: KnowledgeBase,
  declared: readonly Fields[],
  sources: SourceKeeping,
): Promise<void> {
  // Check all of them before creating any.
  for (const fields of declared) sourceDraft(kb.id, fields)
  for (const fields of declared) {
    const known = sources
      .list(kb)
      .find(({ name }) => nameKey(name) === nameKey(String(fields.name)))
    if (known === undefined) await createSource(kb, fields, sources)
    else await alterSource(known, fields, sources)
  }
}

/** Returns a source with its current run, as the API shows it. */
export function sourceRecord(
  kb: KnowledgeBase,
  source: SyncSource,
  sources: Pick<SourceKeeping, 'stateOf'>,
): Fields {
  const { lastRun, jobId, nextRunAt, watching, watchNote } = sources.stateOf(source)
  return {
    ...sourceFields(source),
    knowledge_base: kb.name,
    project: kb.projectName,
    job_id: jobId,
    next_run_at: nextRunAt,
    watching,
    watch_note: watchNote,
    last_run: lastRun === null ? null : runFields(lastRun),
  }
}

/** Returns a source as the API shows it, with secrets masked. */
function sourceFields({ parameters, ...source }: SyncSource): Fields {
  const { headers } = parameters
  const masked = isObject(headers)
    ? { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, MASK])) }
    : {}
  return {
    id: source.id,
    name: source.name,
    kind: source.kind,
    ...parameters,
    ...masked,
    schedule: source.schedule,
    watch: source.isWatched,
    remove_vanished: source.removesVanished,
    created_at: source.createdAt,
    updated_at: source.updatedAt,
  }
}

export function runFields(run: SyncRun): Fields {
  const started = millisOf(run.startedAt)
  const finished = run.finishedAt && millisOf(run.finishedAt)
  return {
    id: run.id,
    job_id: run.jobId,
    trigger: run.trigger,
    state: run.state,
    started_at: run.startedAt,
    finished_at: run.finishedAt,
    duration_ms: typeof finished === 'number' ? Math.round(finished - started) : null,
    ...run.counts,
    error: run.error,
    errors: run.errors,
  }
}

function invalidSource(message: string): AppError {
  return new AppError(INVALID_SOURCE, message)
}
