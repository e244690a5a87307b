import { and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import type {
  AuditEntry,
  AuditFilter,
  AuditLog,
  AuditPage,
} from '../../core/domain/ports/access-ports.ts'
import { DAY_MS, MINUTE_MS, timestampOfMillis } from '../../core/time.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { countOf } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import { auditLog } from './access-schema.ts'
import { insertRows } from './trace-rows.ts'

export interface AuditLimits {
  readonly keepMs: number
  readonly rowsMax: number
}

type AuditRow = typeof auditLog.$inferSelect

const AUDIT_LIMITS: AuditLimits = { keepMs: 365 * DAY_MS, rowsMax: 1_000_000 }

/**
 * Entries are collected for this long and written together, because each write costs a transaction.
 */
const WRITE_MS = 500
/** The pause after a failed write, for example because the disk is full. */
const RETRY_MS = 5_000
/**
 * The most entries to keep in memory if they cannot be written. After that, the oldest are dropped.
 */
const WAITING_MAX = 20_000
/** Similar failures within this time become one entry. */
const ALIKE_MS = MINUTE_MS
/** How many kinds of failures to distinguish within that time. The others share one more entry. */
const KINDS_MAX = 50
/** Of a kind within that time. The rest are counted: programs may insert thousands of times. */
const OWN_ENTRIES = 10
/** Count at most this many kinds of changes at once. Further kinds get separate entries. */
const CHANGES_MAX = 1_000
const SWEEP_MS = 600_000

/** In memory for a moment, then in the database until too old or too many. */
export class StoredAudit implements AuditLog {
  readonly #database: Database
  readonly #now: () => number
  readonly #limits: AuditLimits
  #waiting: AuditRow[] = []
  /** Failures of the current minute by kind, with the number that followed the recorded one. */
  readonly #repeated = new Map<string, { row: AuditRow; count: number }>()
  /** Changes of the current minute by kind: their number, and how many followed the last entry. */
  readonly #busy = new Map<string, { row: AuditRow; seen: number; count: number }>()
  #isClosed = false
  #isSwept = false
  #nextNumber = 1
  #writeTimer: ReturnType<typeof setTimeout> | null = null
  #minuteTimer: ReturnType<typeof setTimeout> | null = null
  #writing: Promise<void> | null = null
  readonly #sweeper: ReturnType<typeof setInterval>

  private constructor(database: Database, now: () => number, limits: AuditLimits) {
    this.#database = database
    this.#now = now
    this.#limits = limits
    // If a removal fails, the next one tries again.
    this.#sweeper = setInterval(() => void this.#sweep().catch(() => {}), SWEEP_MS)
    this.#sweeper.unref()
  }

  static async open(
    database: Database,
    now: () => number,
    limits: Partial<AuditLimits> = {},
  ): Promise<StoredAudit> {
    const stored = new StoredAudit(database, now, { ...AUDIT_LIMITS, ...limits })
    const sql = 'SELECT max(number) FROM eider.audit_log'
    stored.#nextNumber = 1 + (await database.lease((connection) => countOf(connection, sql)))
    return stored
  }

  note(entry: AuditEntry): void {
    const row = this.#rowOf(entry)
    if (entry.outcome === 'ok') this.#addChange(row)
    else this.#addFailure(row)
  }

  async settled(): Promise<void> {
    this.#addRepeated()
    await this.#write()
  }

  async list(
    filter: AuditFilter,
    { limit, before }: { readonly limit: number; readonly before: number | null },
  ): Promise<AuditPage> {
    // Even if the disk is full, the stored entries can be read.
    await this.settled().catch(() => {})
    const conditions = conditionsOf(filter)
    if (before !== null) conditions.push(lt(auditLog.number, before))
    const rows = await this.#database.lease((connection) => {
      return queriesOver(connection)
        .select()
        .from(auditLog)
        .where(and(...conditions))
        .orderBy(desc(auditLog.number))
        .limit(limit + 1)
    })
    const items = rows.slice(0, limit)
    return { items, next: rows.length > limit ? (items.at(-1)?.number ?? null) : null }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#sweeper)
    for (const timer of [this.#writeTimer, this.#minuteTimer]) {
      if (timer !== null) clearTimeout(timer)
    }
    // A full disk must not prevent closing.
    await this.settled().catch(() => {})
  }

  #rowOf({ principal, targets, skippedRows = 0, ...entry }: AuditEntry): AuditRow {
    return {
      ...entry,
      number: 0,
      happenedAt: timestampOfMillis(this.#now()),
      principalKind: principal.kind,
      principalId: principal.id,
      principalName: principal.name,
      targets: targets.map((target) => target.slice(0, TARGET_CHARS_MAX).toWellFormed()),
      occurrences: 1,
      skippedRows,
    }
  }

  /** Starts to count similar entries; the counts are written when the minute is over. */
  #beginMinute(): void {
    if (this.#isClosed || this.#minuteTimer !== null) return
    this.#minuteTimer = setTimeout(() => {
      this.#minuteTimer = null
      this.#addRepeated()
      this.#repeated.clear()
      this.#busy.clear()
    }, ALIKE_MS)
    this.#minuteTimer.unref()
  }

  /** Records the first changes of a kind by a principal, and counts further ones. */
  #addChange(row: AuditRow): void {
    this.#beginMinute()
    const key = JSON.stringify([
      row.principalKind,
      row.principalId,
      row.address,
      row.action,
      row.targets,
    ])
    const busy = this.#busy.get(key)
    if (busy === undefined) {
      if (this.#busy.size < CHANGES_MAX) this.#busy.set(key, { row, seen: 1, count: 0 })
    } else {
      busy.seen += 1
      if (busy.seen > OWN_ENTRIES) {
        busy.count += 1
        // An entry for several changes has the sum of their rows.
        const earlier = busy.count > 1 ? busy.row.skippedRows : 0
        busy.row = { ...row, skippedRows: row.skippedRows + earlier }
        return
      }
    }
    this.#add(row)
  }

  /**
   * Records the first failure of a kind at once, and counts further ones until the minute is over.
   */
  #addFailure(row: AuditRow): void {
    this.#beginMinute()
    const own = `${row.principalKind} ${row.principalId} ${row.action} ${row.outcome} ${row.address}`
    const isKnown = this.#repeated.has(own) || this.#repeated.size < KINDS_MAX
    const key = isKnown ? own : OTHER_CALLERS
    const alike = this.#repeated.get(key)
    if (alike !== undefined) {
      alike.count += 1
      alike.row = isKnown ? row : { ...row, ...SEVERAL }
      return
    }
    this.#repeated.set(key, { row, count: 0 })
    this.#add(row)
  }

  #addRepeated(): void {
    for (const alike of [...this.#repeated.values(), ...this.#busy.values()]) {
      if (alike.count > 0) this.#add({ ...alike.row, occurrences: alike.count })
      alike.count = 0
    }
  }

  #add(row: AuditRow): void {
    this.#waiting.push({ ...row, number: this.#nextNumber })
    this.#nextNumber += 1
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift()
    this.#writeAfter(WRITE_MS)
  }

  #writeAfter(ms: number): void {
    if (this.#isClosed || this.#writeTimer !== null) return
    this.#writeTimer = setTimeout(() => {
      this.#writeTimer = null
      this.#write().catch(() => this.#writeAfter(RETRY_MS))
    }, ms)
    this.#writeTimer.unref()
  }

  async #write(): Promise<void> {
    await this.#writing
    if (this.#waiting.length === 0) return
    const rows = this.#waiting
    this.#waiting = []
    this.#writing = this.#database
      .writeRecords((connection) => insertRows(connection, auditLog, rows))
      .catch((error: unknown) => {
        this.#waiting = [...rows, ...this.#waiting].slice(-WAITING_MAX)
        throw error
      })
      .finally(() => {
        this.#writing = null
      })
    await this.#writing
    if (this.#isSwept) return
    // Sweep early as well, so that a server that never runs for long keeps the limits too.
    this.#isSwept = true
    await this.#sweep().catch(() => {})
  }

  async #sweep(): Promise<void> {
    const oldest = timestampOfMillis(this.#now() - this.#limits.keepMs)
    const lastNumber = this.#nextNumber - this.#limits.rowsMax
    await this.#database.writeRecords(
      (connection) => {
        return queriesOver(connection)
          .delete(auditLog)
          .where(
            sql`${auditLog.happenedAt} < ${oldest}::TIMESTAMP OR ${auditLog.number} < ${lastNumber}`,
          )
      },
      { isFreeing: true },
    )
  }
}

const TARGET_CHARS_MAX = 300
const OTHER_CALLERS = 'others'
/** The entry for failures that have little in common. */
const SEVERAL = {
  principalName: '',
  principalId: '',
  targets: [],
  address: 'several',
  requestId: '',
}

function conditionsOf({ principal, action, outcome, from, to }: AuditFilter): SQL[] {
  return [
    ...(principal === undefined ? [] : [eq(auditLog.principalName, principal)]),
    ...(action === undefined ? [] : [eq(auditLog.action, action)]),
    ...(outcome === undefined ? [] : [eq(auditLog.outcome, outcome)]),
    ...(from === undefined ? [] : [gte(auditLog.happenedAt, from)]),
    ...(to === undefined ? [] : [lt(auditLog.happenedAt, to)]),
  ]
}
