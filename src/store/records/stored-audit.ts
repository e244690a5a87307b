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
import { WriteBehind } from './write-behind.ts'

export interface AuditLimits {
  readonly keepMs: number
  readonly rowsMax: number
}

type AuditRow = typeof auditLog.$inferSelect

interface AlikeEntries {
  /** The last one. */
  row: AuditRow
  seen: number
  /** How many followed the recorded ones. */
  count: number
}

const AUDIT_LIMITS: AuditLimits = { keepMs: 365 * DAY_MS, rowsMax: 1_000_000 }

const WRITE_MS = 500
const RETRY_MS = 5_000
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
  readonly #rows = new WriteBehind<AuditRow>({
    ...{ writeMs: WRITE_MS, retryMs: RETRY_MS, sizeMax: WAITING_MAX, sizeOf: () => 1 },
    write: (rows) => this.#write(rows),
  })
  /** Of the current minute, by kind. */
  readonly #failures = new Map<string, AlikeEntries>()
  readonly #changes = new Map<string, AlikeEntries>()
  #isClosed = false
  #isSwept = false
  #nextNumber = 1
  #minuteTimer: ReturnType<typeof setTimeout> | null = null
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
    const { principalKind, principalId, address, action, targets, outcome } = row
    const by = [principalKind, principalId, address, action]
    this.#beginMinute()
    if (outcome === 'ok') {
      const key = JSON.stringify([...by, targets])
      const isCounted = this.#changes.has(key) || this.#changes.size < CHANGES_MAX
      if (isCounted) this.#addAlike(this.#changes, key, row, OWN_ENTRIES)
      else this.#add(row)
    } else {
      const key = JSON.stringify([...by, outcome])
      const isKnown = this.#failures.has(key) || this.#failures.size < KINDS_MAX
      this.#addAlike(this.#failures, isKnown ? key : OTHER_CALLERS, row, 1)
    }
  }

  settled(): Promise<void> {
    this.#addRepeated()
    return this.#rows.flush()
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
    if (this.#minuteTimer !== null) clearTimeout(this.#minuteTimer)
    this.#addRepeated()
    await this.#rows.close()
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
      this.#failures.clear()
      this.#changes.clear()
    }, ALIKE_MS)
    this.#minuteTimer.unref()
  }

  /** Records the first entries of a kind, and counts further ones until the minute is over. */
  #addAlike(kinds: Map<string, AlikeEntries>, key: string, row: AuditRow, ownMax: number): void {
    const alike = kinds.get(key) ?? { row, seen: 0, count: 0 }
    kinds.set(key, alike)
    alike.seen += 1
    if (alike.seen <= ownMax) {
      this.#add(row)
      return
    }
    alike.count += 1
    // An entry for several changes has the sum of their rows.
    const earlier = alike.count > 1 ? alike.row.skippedRows : 0
    const several = key === OTHER_CALLERS ? SEVERAL : {}
    alike.row = { ...row, ...several, skippedRows: row.skippedRows + earlier }
  }

  #addRepeated(): void {
    for (const alike of [...this.#failures.values(), ...this.#changes.values()]) {
      if (alike.count > 0) this.#add({ ...alike.row, occurrences: alike.count })
      alike.count = 0
    }
  }

  #add(row: AuditRow): void {
    this.#rows.add({ ...row, number: this.#nextNumber })
    this.#nextNumber += 1
  }

  async #write(rows: readonly AuditRow[]): Promise<void> {
    await this.#database.writeRecords((connection) => insertRows(connection, auditLog, rows))
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
