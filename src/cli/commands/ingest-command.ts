import { counted } from '../../core/short-text.ts'
import {
  type CommandContext,
  type NamedObject,
  namedObject,
  type Options,
  pathOf,
  type RunCommand,
} from '../command.ts'
import { CommandError, EXIT, usageError } from '../command-error.ts'
import { ingestLocal, type LocalIngest } from '../ingest/ingest-progress.ts'
import { type FileRules, fileRoots } from '../ingest/local-files.ts'
import {
  addFailed,
  addStored,
  type IngestCounts,
  KnownFiles,
  noCounts,
  postFiles,
  UNCONFIRMED,
} from '../ingest/send-files.ts'
import { type JobRecord, requireDone, watchJob } from '../jobs-over-http.ts'
import { safeLine } from '../terminal-text.ts'

export const ingestSources: RunCommand = async (context) => {
  const { words, options, output } = context
  const [knowledgeBase = '', ...sources] = words
  const kb = namedObject(knowledgeBase, options)
  const query = options.text('query')
  const { urls, paths, isPiped } = sortedSources(sources, query, options)
  const ingest = await localIngest(paths, kb, context)
  const piped = isPiped ? pipedId(options) : null
  await ensureKnowledgeBase(kb, context)
  const counts = noCounts()
  try {
    if (piped !== null) await ingestPiped({ kb, id: piped }, counts, context)
    if (urls.length > 0 || query !== undefined)
      await ingestRemote({ kb, urls, query }, counts, context)
    if (ingest !== null) {
      await ingest.known.read(context.signal)
      await ingestLocal(ingest, counts, context)
    }
  } catch (error) {
    if (counts.stored > 0 && !output.isJson) {
      output.warn(`${summary(counts)}; run it again to continue where it stopped`)
    }
    throw error
  }
  await report(counts, context)
  if (options.flag('watch') === true && ingest !== null) {
    const { watchLocal } = await import('../ingest/watch-files.ts')
    await watchLocal(ingest, context, (pass) => report(pass, context))
    return EXIT.done
  }
  return counts.failed.length > 0 ? EXIT.failed : EXIT.done
}

function sortedSources(sources: readonly string[], query: string | undefined, options: Options) {
  const urls = sources.filter((one) => /^https?:\/\//i.test(one))
  const isPiped = sources.includes('-')
  const paths = sources.filter((one) => one !== '-' && !urls.includes(one))
  if (sources.length === 0 && query === undefined) {
    throw usageError('ingest: give paths, addresses, "-" or --query')
  }
  if (paths.length === 0) {
    for (const name of ['watch', 'remove-vanished', 'replace'] as const) {
      if (options.flag(name) === true)
        throw usageError(`--${name} applies only to files and folders`)
    }
  }
  if (urls.length === 0) {
    for (const name of ['limit', 'depth', 'allow-host'] as const) {
      if (options.text(name) !== undefined) throw usageError(`--${name} applies only to addresses`)
    }
  }
  return { urls, paths, isPiped }
}

async function localIngest(
  paths: readonly string[],
  kb: NamedObject,
  { options, client }: CommandContext,
): Promise<LocalIngest | null> {
  if (paths.length === 0) return null
  const isRemoving = options.flag('remove-vanished') === true
  const rules: FileRules = {
    isAll: options.flag('all') === true,
    include: options.list('include'),
    exclude: options.list('exclude'),
    base: options.text('base') ?? null,
  }
  const roots = await fileRoots(paths, rules, isRemoving)
  const isReplacing = options.flag('replace') === true
  const known = new KnownFiles(kb, client)
  return { kb, known, roots, rules, isReplacing, isRemoving, fields: readingFields(options) }
}

const READING_OPTIONS = ['format', 'encoding', 'delimiter', 'header', 'sheet'] as const

function readingFields(options: Options): Readonly<Record<string, string>> {
  const isRead = options.flag('ocr')
  const ocr = isRead === undefined ? 'ask' : isRead ? 'yes' : 'no'
  return { ...Object.fromEntries(options.asQuery(READING_OPTIONS)), ocr }
}

/** @throws CommandError if it does not exist and may not be created */
async function ensureKnowledgeBase(
  kb: NamedObject,
  { client, options, output, signal }: CommandContext,
): Promise<void> {
  try {
    await client.send('GET', pathOf('knowledge_bases', kb), { signal })
    return
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    if (error.code === 'project_not_found') {
      const next = `create it: eider sql 'CREATE PROJECT "${kb.project}"'`
      throw new CommandError(error.code, `${error.message}; ${next}`, { status: error.status })
    }
    if (error.code !== 'knowledge_base_not_found' || options.flag('create') === false) throw error
  }
  const path = `/api/projects/${encodeURIComponent(kb.project)}/knowledge_bases`
  const json = { knowledge_base: { name: kb.name } }
  await client.send('POST', path, { json, signal }).catch((error: unknown) => {
    // Another client has created it in the meantime.
    const isThere = error instanceof CommandError && error.code === 'knowledge_base_exists'
    if (!isThere) throw error
  })
  output.say(`Created the knowledge base ${kb.project}.${safeLine(kb.name)}`)
}

/** The id for the document on standard input. @throws CommandError `usage` */
function pipedId(options: Options): string {
  if (process.stdin.isTTY === true)
    throw usageError('ingest: "-" reads standard input, but nothing is piped into it')
  const isTable = ['csv', 'json', 'jsonl', 'parquet'].includes(options.text('format') ?? '')
  const id = options.text('id') ?? (isTable ? 'stdin' : undefined)
  if (id === undefined) throw usageError('ingest: "-" needs --id for its document')
  return id
}

async function ingestPiped(
  { kb, id }: { readonly kb: NamedObject; readonly id: string },
  counts: IngestCounts,
  context: CommandContext,
): Promise<void> {
  const { options } = context
  const file = { name: id, content: () => Bun.stdin.stream() }
  const fields = readingFields(options)
  const { files, failed } = await postFiles([file], { kb, fields, isOnce: true }, context)
  addFailed(failed, counts)
  for (const stored of files) addStored(stored, counts)
}

/** Starts a job for sources that the server reads. It continues without this connection. */
async function ingestRemote(
  given: {
    readonly kb: NamedObject
    readonly urls: readonly string[]
    readonly query: string | undefined
  },
  counts: IngestCounts,
  context: CommandContext,
): Promise<void> {
  const { kb, urls, query } = given
  const { client, options, output, signal } = context
  const hosts = options.list('allow-host')
  const insert = {
    background: true,
    error: options.flag('skip-failed') === true ? 'skip' : undefined,
    urls: urls.length === 0 ? undefined : urls,
    query,
    limit: options.count('limit', 1, 1_000_000),
    crawl_depth: options.count('depth', 0, 1000),
    filters: hosts.length === 0 ? undefined : { allowed_domains: hosts },
  }
  const request = { json: { knowledge_base: insert }, signal }
  const job = await client.send<JobRecord>('PUT', pathOf('knowledge_bases', kb), request)
  if (options.flag('wait') === false) {
    output.say(`Job ${job.id}: eider jobs watch ${job.id}`)
    counts.jobs.push(job.id)
    return
  }
  const last = await watchJob(job.id, context).catch(async (error: unknown) => {
    if (signal.aborted) {
      await client.send('POST', `/api/jobs/${job.id}/cancel`).catch(() => {})
      output.warn(`Job ${job.id} is cancelled; eider jobs resume ${job.id} continues it`)
    }
    throw error
  })
  counts.jobs.push(job.id)
  counts.documents += last.documents
  counts.chunks += last.chunks
  for (const { item, message } of last.errors) {
    counts.failed.push({ path: item, code: 'left_out', message })
  }
  requireDone(last)
  if (urls.length > 0) await addCrawlWarnings(kb, counts, context)
}

/** Adds the knowledge base's warnings about pages that a crawl skipped. */
async function addCrawlWarnings(
  kb: NamedObject,
  counts: IngestCounts,
  { client, signal }: CommandContext,
): Promise<void> {
  const answer = await client.send<{
    readonly params?: { readonly warnings?: readonly string[] }
  }>('GET', pathOf('knowledge_bases', kb), { signal })
  for (const message of answer.params?.warnings ?? []) {
    counts.warnings.push({ path: 'pages', code: 'warning', message })
  }
}

const LINES_MAX = 20

async function report(
  counts: IngestCounts,
  { output }: Pick<CommandContext, 'output'>,
): Promise<void> {
  if (output.isJson) return output.json(counts)
  for (const { path, message } of counts.warnings) {
    output.say(`${safeLine(path)}: ${safeLine(message)}`)
  }
  for (const { path, reason } of counts.left_out.slice(0, LINES_MAX)) {
    output.say(`left out ${safeLine(path)}: ${reason}`)
  }
  if (counts.skipped > LINES_MAX) {
    output.say(`left out ${counts.skipped - LINES_MAX} more: --json lists them`)
  }
  const line = summary(counts)
  if (line !== '') output.say(line)
  for (const { path, code, message } of counts.failed) {
    const next = code === UNCONFIRMED ? '. Run it again with --ocr, or with --no-ocr' : ''
    output.warn(`${output.red('failed')} ${safeLine(path)}: ${safeLine(message)}${next}`)
  }
}

function summary(counts: IngestCounts): string {
  const { stored, unchanged, removed, documents, chunks, failed, jobs, skipped } = counts
  const parts = [
    ...(jobs.length > 0 ? [] : [`${counted(stored, 'file')} stored`]),
    ...(documents > 0 ? [`${counted(documents, 'document')}, ${counted(chunks, 'chunk')}`] : []),
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
    ...(skipped > 0 ? [`${skipped} left out`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
  ]
  return parts.join(', ')
}
