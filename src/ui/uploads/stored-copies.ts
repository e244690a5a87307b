/**
 * Finds files on the server with the same bytes as one to send, and a name to send a file under. If
 * two knowledge bases have a `report.pdf`, the second is stored as `report (teas).pdf`, and its
 * document is `report.pdf`.
 */
import { DEFAULT_PROJECT } from '../../core/domain/names.ts'
import { listDocuments } from '../api/documents.ts'
import { addressOfContent, listFiles, withoutText } from '../api/files.ts'
import type { UploadedFile } from '../api/records.ts'
import { bodyOf, requestStream } from '../api/request.ts'
import { TABLE } from './picked-files.tsx'

interface Given {
  readonly name: string
  readonly content: Blob
  readonly project: string
  readonly knowledgeBase: string
}

/** Larger files are not downloaded for a comparison. */
const COMPARED_BYTES_MAX = 100_000_000
const COMPARED_MAX = 3
/** Files sent within this time share one request for the list. */
const LIST_MS = 2000

const list = { atMs: Number.NEGATIVE_INFINITY, files: Promise.resolve<readonly UploadedFile[]>([]) }

function storedFiles(ageMsMax: number): Promise<readonly UploadedFile[]> {
  const now = performance.now()
  if (now - list.atMs > ageMsMax) {
    list.atMs = now
    list.files = listFiles().catch(() => [])
  }
  return list.files
}

type KnownCopy =
  /** The knowledge base already has this document, made from the same bytes. */
  | { readonly kind: 'document'; readonly id: string }
  /** The server has the file, but the knowledge base does not. */
  | { readonly kind: 'file'; readonly name: string }

/** What is known about these bytes, so that nothing is read twice; undefined if nothing is. */
export async function knownCopy(given: Given, isFresh: boolean): Promise<KnownCopy | undefined> {
  const files = await storedFiles(isFresh ? 0 : LIST_MS)
  const twins = await twinsOf(given, files)
  for (const { name } of twins) {
    const id = name.replace(suffixOf(given), '')
    if (ownName(id, given, files) !== name) continue
    if (await holds(given, id)) return { kind: 'document', id }
  }
  const twin = twins.find(({ name }) => name === given.name)
  if (twin === undefined || (await holds(given, given.name))) return undefined
  return { kind: 'file', name: twin.name }
}

interface SendingName {
  readonly name: string
  /** Whether to ask before replacing: a file with this name belongs to the same knowledge base. */
  readonly isAsked: boolean
}

/** The name to send a file under, if another file already has its own name. */
export async function freeName(given: Given): Promise<SendingName> {
  const { name } = given
  const files = await storedFiles(0)
  const own = ownName(name, given, files)
  // The rows of a table have ids of their own, which do not show which file they came from.
  const isAsked = TABLE.test(name) || /\.zip$/i.test(name) || (await holds(given, name))
  return { name: isAsked ? own : scopedName(name, given), isAsked }
}

async function twinsOf(
  { name, content }: Given,
  files: readonly UploadedFile[],
): Promise<readonly UploadedFile[]> {
  if (content.size > COMPARED_BYTES_MAX) return []
  const alike = files
    // Skips files without text, because a model could still read more from them.
    .filter((one) => one.size_bytes === content.size && withoutText(one) === undefined)
    .toSorted((a, b) => Number(b.name === name) - Number(a.name === name))
    .slice(0, COMPARED_MAX)
  if (alike.length === 0) return []
  const mine = new Uint8Array(await content.arrayBuffer())
  const same = await Promise.all(alike.map((one) => isSame(one, mine)))
  return alike.filter((_, index) => same[index])
}

async function isSame({ name }: UploadedFile, mine: Uint8Array): Promise<boolean> {
  try {
    const answer = await requestStream(addressOfContent(name))
    const theirs = new Uint8Array(await bodyOf(answer, () => answer.arrayBuffer()))
    return theirs.length === mine.length && theirs.every((byte, index) => byte === mine[index])
  } catch {
    return false
  }
}

async function holds({ project, knowledgeBase }: Given, id: string): Promise<boolean> {
  const part = { limit: 1, filters: { id } }
  const found = await listDocuments({ project, name: knowledgeBase }, part).catch(() => undefined)
  return found?.items.length === 1
}

/** Returns `report (teas).pdf` or `report (shop.teas).pdf`. */
function scopedName(name: string, of: Given): string {
  const [, stem = name, ending = ''] = /^(.+?)(\.[^.]+)?$/s.exec(name) ?? []
  return `${stem}${suffixOf(of)}${ending}`
}

function suffixOf({ project, knowledgeBase }: Given): string {
  return ` (${project === DEFAULT_PROJECT ? '' : `${project}.`}${knowledgeBase})`
}

/** The name of the file that a document of this knowledge base was made from. */
function ownName(id: string, of: Given, files: readonly UploadedFile[]): string {
  const scoped = scopedName(id, of)
  return files.some(({ name }) => name === scoped) ? scoped : id
}
