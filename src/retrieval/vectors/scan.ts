import type { NearestChunk } from '../../core/domain/ports/search-ports.ts'
import { AppError } from '../../core/errors.ts'
import { type Candidate, candidatesOf, type Kernel } from '../kernel/kernel.ts'
import { PART_WORDS, ROW_LIST_MAX, type RowShape, VECTOR_LIMITS } from '../kernel/memory-layout.ts'

export interface ScanTask {
  readonly kind: 'scan'
  readonly shape: RowShape
  /** Has length 1. */
  readonly queryVector: Float32Array
  readonly k: number
  /** The state in which to see the rows. */
  readonly snapshot: number
  /** `address, capacity, from, to` of each extent. [from, to) are rows, or indexes into `rows`. */
  readonly parts: Float64Array
  /** Row numbers within their extents; null: all rows of the range. */
  readonly rows: Int32Array | null
}

export type ScanResult =
  /** Nearest first, ties by key. */
  | { readonly kind: 'found'; readonly keys: Float64Array; readonly distances: Float64Array }
  /** Memory does not hold the floats, so the nearest are somewhere among these. */
  | { readonly kind: 'candidates'; readonly candidates: readonly Candidate[] }

export interface ScanRunner {
  readonly threadCount: number
  readonly idleCount: number
  /** @param signal null for a `StoreTask`, which may write only to rows it owns */
  run<T extends ThreadTask>(task: T, signal: AbortSignal | null): Promise<ResultOf<T>>
}

/** Only scans are batched. */
export type ThreadTask = ScanTask | AssignTask | StoreTask

export type ThreadResult = ScanResult | AssignResult | StoreResult

export type ResultOf<T extends ThreadTask> = T extends ScanTask
  ? ScanResult
  : T extends AssignTask
    ? AssignResult
    : StoreResult

/** One scan, slice by slice. It pauses after each short step and can be abandoned there. */
function* scanSteps(kernel: Kernel, task: ScanTask): Generator<undefined, ScanResult> {
  const { parts } = task
  const drained: Candidate[] = []
  const sliceRows = sliceRowsOf(task.shape)
  const sliceMax = task.rows === null ? sliceRows : Math.min(sliceRows, ROW_LIST_MAX)
  begin(kernel, task)
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    const [address = 0, capacity = 0, from = 0, to = 0] = parts.subarray(part)
    kernel.openExtent(address, capacity)
    for (let at = from; at < to; at += sliceMax) {
      scanSlice(kernel, task.rows, drained, [at, Math.min(to, at + sliceMax)])
      yield
    }
  }
  return resultOf(kernel, task, drained)
}

/** A scan with a kernel of its own. */
interface OwnScan {
  readonly kernel: Kernel
  readonly task: ScanTask
}

/** Two scans in one pass cost as much as two passes. */
export const TOGETHER_MIN = 3
export const TOGETHER_MAX = 4

/** Whether the scans can be joined, because they read the same rows in the same order. */
export function areOfSameRows({ task: one }: OwnScan, { task: other }: OwnScan): boolean {
  if (one.rows !== null || other.rows !== null) return false
  return (
    one.parts.length === other.parts.length &&
    one.parts.every((part, index) => part === other.parts[index])
  )
}

/**
 * Like `scanSteps`, for up to `TOGETHER_MAX` scans of the same rows, which share the first pass.
 */
export function* scanStepsTogether(
  scans: readonly OwnScan[],
): Generator<undefined, readonly ScanResult[]> {
  const [first] = scans
  if (first === undefined) return []
  const { parts, shape } = first.task
  const drained = scans.map((): Candidate[] => [])
  const sliceMax = Math.min(sliceRowsOf(shape), ROW_LIST_MAX)
  for (const { kernel, task } of scans) begin(kernel, task)
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    const [address = 0, capacity = 0, from = 0, to = 0] = parts.subarray(part)
    for (const { kernel } of scans) kernel.openExtent(address, capacity)
    for (let at = from; at < to; at += sliceMax) {
      look(scans, at, Math.min(to, at + sliceMax))
      for (const [index, { kernel }] of scans.entries()) settle(kernel, drained[index] ?? [])
      yield
    }
  }
  return scans.map(({ kernel, task }, index) => resultOf(kernel, task, drained[index] ?? []))
}

function look(scans: readonly OwnScan[], from: number, to: number): void {
  const leader = scans[0]?.kernel
  const [one = 0, two = one, three = one, four = one] = scans.map(({ kernel }) => kernel.joinLook())
  leader?.beginLook(one, two, three, four, scans.length)
  leader?.look(from, to)
}

function settle(kernel: Kernel, drained: Candidate[]): void {
  const end = kernel.openCount()
  for (let at = 0; at < end; ) {
    at = kernel.settleRows(at, end)
    if (at < end) drain(kernel, drained)
  }
}

function begin(kernel: Kernel, { shape, queryVector, k, snapshot }: ScanTask): void {
  kernel.openIndex(shape.stride, shape.holdsFloats ? 1 : 0)
  kernel.input.fill(0, queryVector.length, shape.stride)
  kernel.input.set(queryVector)
  kernel.begin(k, snapshot, Number.POSITIVE_INFINITY)
}

function sliceRowsOf({ stride }: RowShape): number {
  return Math.ceil(VECTOR_LIMITS.sliceBytes / stride)
}

export function taskSteps(kernel: Kernel, task: ThreadTask): Generator<undefined, ThreadResult> {
  if (task.kind === 'scan') return scanSteps(kernel, task)
  return task.kind === 'assign' ? assignSteps(kernel, task) : storeSteps(kernel, task)
}

export function runTask<T extends ThreadTask>(kernel: Kernel, task: T): ResultOf<T> {
  const steps = taskSteps(kernel, task)
  for (let step = steps.next(); ; step = steps.next()) {
    // Each task has a matching kind of result.
    if (step.done) return step.value as ResultOf<T>
  }
}

/** The slice contains indexes into `rows`, or rows if that is null. */
function scanSlice(
  kernel: Kernel,
  rows: Int32Array | null,
  drained: Candidate[],
  [from, to]: readonly [from: number, to: number],
): void {
  if (rows !== null) kernel.rowList.set(rows.subarray(from, to))
  const base = rows === null ? 0 : from
  const end = to - base
  let at = from - base
  while (at < end) {
    at = rows === null ? kernel.scanRange(at, end) : kernel.scanRows(at, end)
    if (at < end) drain(kernel, drained)
  }
}

/** Without floats, the kernel can run out of space for candidates. */
function drain(kernel: Kernel, drained: Candidate[]): void {
  for (const candidate of candidatesOf(kernel, kernel.finish())) drained.push(candidate)
  kernel.dropCandidates()
}

function resultOf(kernel: Kernel, task: ScanTask, drained: Candidate[]): ScanResult {
  if (!task.shape.holdsFloats) {
    drain(kernel, drained)
    return { kind: 'candidates', candidates: drained }
  }
  const count = kernel.finish()
  return {
    kind: 'found',
    keys: kernel.keys.slice(0, count),
    distances: kernel.distances.slice(0, count),
  }
}

/** A row in a list takes about four times as long as a row in sequence. */
const LISTED_FACTOR = 4

/** A task's duration, as bytes of codes read in sequence. */
export function scanBytesOf({ parts, shape, rows: list }: ScanTask): number {
  let rows = 0
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    rows += (parts[part + 3] ?? 0) - (parts[part + 2] ?? 0)
  }
  return rows * shape.stride * (list === null ? 1 : LISTED_FACTOR)
}

/** Rows that a thread compares with the centroids of all lists. The thread only reads memory. */
interface AssignTask {
  readonly kind: 'assign'
  readonly shape: RowShape
  /** `address, capacity, from, to` of each extent. [from, to) are indexes into `rows`. */
  readonly parts: Float64Array
  /** Row numbers within their extents. */
  readonly rows: Int32Array
  readonly centroids: CentroidCodes
  readonly listCount: number
}

/** The addresses of the bounds and codes of all centroids. */
export interface CentroidCodes {
  readonly boundsAt: number
  readonly codesAt: number
}

interface AssignResult {
  readonly kind: 'assigned'
  readonly lists: Int32Array
}

/** One task, slice by slice, in short steps after which it can be abandoned. */
function* assignSteps(kernel: Kernel, task: AssignTask): Generator<undefined, AssignResult> {
  const { parts, rows, shape, centroids, listCount } = task
  const sliceMax = sliceRows(task, VECTOR_LIMITS.sliceProducts)
  const lists = new Int32Array(rows.length)
  kernel.openIndex(shape.stride, shape.holdsFloats ? 1 : 0)
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    const [address = 0, capacity = 0, from = 0, to = 0] = parts.subarray(part)
    kernel.openExtent(address, capacity)
    kernel.openCentroids(centroids.boundsAt, centroids.codesAt, listCount)
    for (let at = from; at < to; at += sliceMax) {
      const slice = rows.subarray(at, Math.min(to, at + sliceMax))
      kernel.rowList.set(slice)
      kernel.assignRows(slice.length)
      lists.set(kernel.rowList.subarray(0, slice.length), at)
      yield
    }
  }
  return { kind: 'assigned', lists }
}

/** Vectors for rows that searches do not see yet. */
export interface StoreTask {
  readonly kind: 'store'
  readonly shape: RowShape
  /** As in an `AssignTask`. */
  readonly parts: Float64Array
  readonly rows: Int32Array
  readonly keys: Float64Array
  readonly vectors: Float32Array
  /** The state that makes them visible. */
  readonly addedAt: number
}

export interface StoreResult {
  readonly kind: 'stored'
  /** The first key whose vector does not have length 1. It and later ones were not stored. */
  readonly refusedKey: number | null
}

/** One task, which can be abandoned between two extents. */
function* storeSteps(kernel: Kernel, task: StoreTask): Generator<undefined, StoreResult> {
  const { parts, rows, keys, vectors, shape, addedAt } = task
  const dimensions = vectors.length / keys.length
  kernel.openIndex(shape.stride, shape.holdsFloats ? 1 : 0)
  kernel.input.fill(0, 0, shape.stride)
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    const [address = 0, capacity = 0, from = 0, to = 0] = parts.subarray(part)
    kernel.openExtent(address, capacity)
    for (let at = from; at < to; at += 1) {
      kernel.input.set(vectors.subarray(at * dimensions, (at + 1) * dimensions))
      const key = keys[at] ?? 0
      if (kernel.storeRow(rows[at] ?? 0, key, addedAt) !== 1) {
        return { kind: 'stored', refusedKey: key }
      }
    }
    yield
  }
  return { kind: 'stored', refusedKey: null }
}

/** How many rows of a task need this many products of two codes, up to the kernel's limit. */
export function sliceRows(
  { shape, listCount }: Pick<AssignTask, 'shape' | 'listCount'>,
  products: number,
): number {
  return Math.min(ROW_LIST_MAX, Math.max(4, Math.ceil(products / (shape.stride * listCount))))
}

/** Returns vectors by key as stored, with length 1. Removed keys are missing. */
export type FetchVectors = (
  keys: readonly bigint[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<bigint, Float32Array>>

export interface CandidateSearch {
  /** Has length 1. */
  readonly queryVector: Float32Array
  readonly k: number
  readonly fetchVectors: FetchVectors
}

/** Computes exact distances, most promising first. @throws AppError if the index is behind */
export async function rescored(
  candidates: readonly Candidate[],
  search: CandidateSearch,
  signal: AbortSignal,
): Promise<readonly NearestChunk[]> {
  const open = possible(candidates, search.k).toSorted((a, b) => b.upper - a.upper)
  let nearest: readonly Measured[] = []
  for (let from = 0; from < open.length; from += VECTOR_LIMITS.fetchRows) {
    signal.throwIfAborted()
    const farthest = nearest[search.k - 1]
    const batch = open.slice(from, from + VECTOR_LIMITS.fetchRows)
    const [best] = batch
    // An equal distance is still possible, and is decided by key. At 2, nothing is farther.
    const isDecided = farthest !== undefined && farthest.distance < 2
    if (isDecided && best !== undefined && 1 - best.upper > farthest.distance) break
    const measured = await measure(batch, search, signal)
    nearest = [...nearest, ...measured].sort(compareMeasured).slice(0, search.k)
  }
  return nearest.map(({ key, distance }) => ({ key: BigInt(key), distance }))
}

/** Leaves out those that are certainly farther away than `k` others. */
function possible(candidates: readonly Candidate[], k: number): readonly Candidate[] {
  const lowers = Float64Array.from(candidates, ({ lower }) => lower).sort()
  const threshold = lowers[lowers.length - k] ?? Number.NEGATIVE_INFINITY
  return candidates.filter(({ upper }) => threshold <= -1 || upper >= Math.min(threshold, 1))
}

async function measure(
  candidates: readonly Candidate[],
  { queryVector, fetchVectors }: CandidateSearch,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  const keys = candidates.map(({ key }) => BigInt(key))
  const vectors = await fetchVectors(keys, signal)
  return keys.map((key) => {
    const vector = vectors.get(key)
    if (vector?.length !== queryVector.length) {
      throw new AppError('internal', 'The vector index is behind its table')
    }
    return { key: Number(key), distance: exactDistance(queryVector, vector) }
  })
}

/** Adds in the kernel's order, so that the distance equals the kernel's to the last bit. */
function exactDistance(one: Float32Array, other: Float32Array): number {
  const sums = new Float64Array(4)
  for (let index = 0; index < one.length; index++) {
    const lane = index & 3
    sums[lane] = (sums[lane] ?? 0) + (one[index] ?? 0) * (other[index] ?? 0)
  }
  const [a = 0, b = 0, c = 0, d = 0] = sums
  return Math.min(2, Math.max(0, 1 - (a + c + (b + d))))
}

export interface Measured {
  readonly key: number
  readonly distance: number
}

/** Nearest first, ties by key. */
function compareMeasured(one: Measured, other: Measured): number {
  return one.distance - other.distance || one.key - other.key
}

/** Returns the nearest `k` of several threads' results. */
export function nearestOf(results: readonly ScanResult[], k: number): readonly NearestChunk[] {
  const measured = results.flatMap((result) => (result.kind === 'found' ? pairsOf(result) : []))
  if (results.length > 1) measured.sort(compareMeasured)
  return measured.slice(0, k).map(({ key, distance }) => ({ key: BigInt(key), distance }))
}

function pairsOf({ keys, distances }: ScanResult & { kind: 'found' }): readonly Measured[] {
  return Array.from(keys, (key, index) => ({ key, distance: distances[index] ?? Number.NaN }))
}
