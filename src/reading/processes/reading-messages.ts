/**
 * The messages between the server and a reader process. Messages from the process are checked,
 * because it has read users' files.
 */

import {
  type ReadArchive,
  type ReadFile,
  type ReadMember,
  type ReadTable,
  SCAN_MEDIA_TYPES,
  type ScanImage,
  type SourceFile,
} from '../../core/domain/ports/reading-ports.ts'
import { isFileFormat } from '../../core/domain/uploaded-file.ts'
import type { ErrorCode } from '../../core/errors.ts'
import { isCount, isObject } from '../../core/json.ts'
import { READING_LIMITS } from '../reading-limits.ts'

/** One file to read. The results go into the folder, which only this job uses. */
export interface ReadingJob {
  readonly id: number
  readonly source: SourceFile
  readonly folder: string
  readonly limits: ProcessLimits
}

/** The process ends itself if it exceeds one of these. */
export interface ProcessLimits {
  readonly memoryBytes: number
  readonly outputBytes: number
  /** CPU time for one file, which takes longer on a busy machine. If missing, there is no limit. */
  readonly cpuMs?: number
}

export type ReadingAnswer =
  | { readonly kind: 'read'; readonly id: number; readonly summary: ReadingSummary }
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly code: ReadingErrorCode
      readonly message: string
    }

/** The result without the documents. */
export interface ReadingSummary extends Omit<ReadFile, 'documents' | 'scans'> {
  readonly documentCount: number
  readonly scans: readonly ScanImage[]
}

/** The error codes that a reader may return. */
const ERROR_CODES = ['file_unreadable', 'storage_full', 'invalid_request'] as const

type ReadingErrorCode = (typeof ERROR_CODES)[number]

export function isReadingErrorCode(code: ErrorCode): code is ReadingErrorCode {
  return ERROR_CODES.some((known) => known === code)
}

export const DOCUMENTS_FILE = 'documents.jsonl'
/** Long contents one after the other, as UTF-8. */
export const CONTENTS_FILE = 'contents'
/** Contains the `StopReason` if the process ended itself. */
export const STOPPED_FILE = 'stopped'

export const STOP_REASONS = ['memory', 'output', 'cpu'] as const

export type StopReason = (typeof STOP_REASONS)[number]

const ANSWER_WARNINGS_MAX = 100
const WARNING_CHARS_MAX = 1000
const FAILURE_CHARS_MAX = 2000
const TABLES_MAX = 1000
const ANSWER_COLUMNS_MAX = 100_000
const ANSWER_NAME_CHARS_MAX = 1000
const TYPE_CHARS_MAX = 1_000_000
const RECOGNIZED_CHARS_MAX = 100_000
const MEMBER_FILE = /^member-\d{1,6}$/
const SCAN_FILE = /^scan-\d{1,6}$/
const TABLE_FILE = /^table-\d{1,6}\.parquet$/

/** Returns as many as a person would read, and the number of the others. */
export function shownWarnings(warnings: readonly string[]): readonly string[] {
  const shown = warnings
    .slice(0, ANSWER_WARNINGS_MAX)
    .map((text) => text.slice(0, WARNING_CHARS_MAX))
  const more = warnings.length - shown.length
  return more === 0 ? shown : [...shown, `${more} more of such sentences are left out`]
}

export function answerOf(message: unknown, job: ReadingJob): ReadingAnswer | null {
  if (!isObject(message) || message.id !== job.id) return null
  const { id } = job
  if (message.kind === 'failed') {
    const code = ERROR_CODES.find((known) => known === message.code)
    if (code === undefined || typeof message.message !== 'string') return null
    return { kind: 'failed', id, code, message: message.message.slice(0, FAILURE_CHARS_MAX) }
  }
  if (message.kind !== 'read' || !isObject(message.summary)) return null
  const summary = checkedSummary(message.summary, job.folder)
  return summary === null ? null : { kind: 'read', id, summary }
}

function checkedSummary(summary: Readonly<Record<string, unknown>>, folder: string) {
  const { format, recognized, warnings, tables, documentCount } = summary
  const archive = archiveOf(summary.archive, folder)
  const { scans = [] } = summary
  if (typeof format !== 'string' || !isFileFormat(format)) return null
  if (!isObject(recognized) || JSON.stringify(recognized).length > RECOGNIZED_CHARS_MAX) return null
  if (!isListOf(warnings, isShortText) || warnings.length > ANSWER_WARNINGS_MAX + 1) return null
  if (!isListOf(tables, isTable) || tables.length > TABLES_MAX) return null
  if (!isCount(documentCount) || archive === undefined) return null
  if (!isListOf(scans, isScan) || scans.length > READING_LIMITS.scansMax) return null
  const found: ReadingSummary = {
    format,
    recognized,
    warnings: warnings.map((text) => text.slice(0, WARNING_CHARS_MAX)),
    tables: tables.map((table) => ({ ...table, path: `${folder}/${table.path}` })),
    documentCount,
    archive,
    scans: scans.map((scan) => ({ ...scan, path: `${folder}/${scan.path}` })),
  }
  return found
}

function archiveOf(value: unknown, folder: string): ReadArchive | null | undefined {
  if (value === null) return null
  if (!isObject(value) || !isCount(value.skipped) || !isListOf(value.members, isMember))
    return undefined
  const members = value.members.map((member) => ({ ...member, path: `${folder}/${member.path}` }))
  return { members, skipped: value.skipped }
}

function isMember(value: unknown): value is ReadMember {
  if (!isObject(value)) return false
  const { name, path, sizeBytes, failure } = value
  const isFile = isShortText(path) && MEMBER_FILE.test(path)
  return (
    isShortText(name) && isFile && isCount(sizeBytes) && (failure === null || isShortText(failure))
  )
}

function isScan(value: unknown): value is ScanImage {
  if (!isObject(value) || !isShortText(value.path) || !isShortText(value.place)) return false
  const { path, place, mediaType } = value
  const isKnown = SCAN_MEDIA_TYPES.some((known) => known === mediaType)
  return SCAN_FILE.test(path) && place.length <= ANSWER_NAME_CHARS_MAX && isKnown
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isOne)
}

function isShortText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Its path must be a name in the job's folder. */
function isTable(value: unknown): value is ReadTable {
  if (!isObject(value)) return false
  const { name, path, columns, rowCount, note } = value
  return (
    (note === undefined || isShortText(note)) &&
    (name === null || (isShortText(name) && name.length <= ANSWER_NAME_CHARS_MAX)) &&
    isShortText(path) &&
    TABLE_FILE.test(path) &&
    isCount(rowCount) &&
    isListOf(columns, isColumn) &&
    columns.length <= ANSWER_COLUMNS_MAX
  )
}

function isColumn(value: unknown): value is ReadTable['columns'][number] {
  if (!isObject(value)) return false
  const { name, type } = value
  return (
    isShortText(name) &&
    name.length <= ANSWER_NAME_CHARS_MAX &&
    isShortText(type) &&
    type.length > 0 &&
    type.length <= TYPE_CHARS_MAX
  )
}
