/** Runs one connection's statements in order: simple and extended queries, cursors, COPY. */
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError, hasCode, toAppError } from '../../core/errors.ts'
import { copyStatement, statementsOf } from '../../query/postgres/statement-text.ts'
import type { AnswerWriter } from './answer-writer.ts'
import {
  arrayValue,
  boundValues,
  columnOids,
  describedColumns,
  describing,
  knownColumns,
  mayBeArray,
  PreparedStatements,
  typeQuestion,
  withColumnTypes,
} from './bound-parameters.ts'
import { CopyIn } from './copy-in.ts'
import { copyOut } from './copy-out.ts'
import { type CursorStatement, cursorStatement } from './cursor-statements.ts'
import { type Fields, ProtocolError } from './messages.ts'
import { columnType, elementOf } from './pg-types.ts'
import {
  type Portal,
  Portals,
  type Prepared,
  type RunningPortal,
  type RunOptions,
  type RunResult,
} from './portals.ts'
import { PgSession } from './session-statements.ts'
import {
  ANSWERS,
  ENDS,
  firstSchema,
  isAnswered,
  tagOf,
  transactionFailed,
} from './statement-words.ts'

interface StatementDeps {
  /** Maps a database or schema name to a project, or to the default project. */
  readonly projectOf: (name: string) => string
  /** Keeps it open until `use` has ended. @throws AppError for every failure */
  readonly run: <T>(
    options: RunOptions,
    signal: AbortSignal,
    use: (result: RunResult) => Promise<T>,
  ) => Promise<T>
  /** Waits until the client has read most. @throws if it has disconnected */
  readonly send: () => Promise<void>
}

export class ConnectionStatements {
  readonly #database: string
  readonly #deps: StatementDeps
  readonly #out: AnswerWriter
  readonly #session: PgSession
  readonly #prepared = new PreparedStatements()
  readonly #portals: Portals
  readonly #closed = new AbortController()
  #running: AbortController | null = null
  #db: string
  /** Set after a failure in the extended protocol: messages are skipped until Sync. */
  #skips = false
  #copyIn: { readonly rows: CopyIn; readonly isSimple: boolean } | null = null

  /** @param database the name that the client sent */
  constructor(database: string, out: AnswerWriter, deps: StatementDeps) {
    this.#database = database
    this.#deps = deps
    this.#out = out
    this.#db = deps.projectOf(database)
    this.#session = new PgSession(this.#db)
    this.#portals = new Portals((bound, use) => this.#run(bound, use))
  }

  /** @throws ProtocolError, or the reason why the client has disconnected */
  async answer(kind: string, fields: Fields): Promise<void> {
    if (this.#skips && kind !== 'S') return
    if (!isAnswered(kind)) throw new ProtocolError(`unknown message "${kind}"`)
    try {
      await this[ANSWERS[kind]](fields)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      this.#closed.signal.throwIfAborted()
      this.#failed(error)
      if (kind !== 'Q') this.#skips = true
    }
  }

  cancel(): void {
    this.#running?.abort(new AppError('cancelled', 'canceling statement due to user request'))
  }

  close(): void {
    this.#closed.abort(new AppError('cancelled', 'The client disconnected'))
    this.cancel()
    this.#portals.closeAll()
  }

  ready(): void {
    this.#out.ready(this.#session.state)
  }

  async query(fields: Fields): Promise<void> {
    const text = fields.text()
    try {
      const statements = statementsOf(text)
      if (statements.length === 0) this.#out.begin('I').end()
      for (const sql of statements) {
        if (this.#session.state === 'E' && !ENDS.test(sql)) throw transactionFailed()
        if (await this.#control(sql, true)) continue
        const copied = await this.#copied(sql, true)
        if (copied === 'waits') return
        if (copied === 'no') await this.#runSimple(sql)
      }
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      this.#closed.signal.throwIfAborted()
      this.#failed(error, text)
    }
    this.ready()
  }

  async #runSimple(sql: string): Promise<void> {
    const portal: Portal = {
      prepared: { sql, oids: [], given: [] },
      values: [],
      formats: [],
      running: null,
    }
    const { columns } = await this.#portals.started(portal)
    // NoData answers only Describe: pgjdbc fails if it comes uncalled.
    if (columns !== null) this.#out.rowDescription(columns, [])
    await this.#rows(portal, 0)
  }

  /** @returns false if the engine must run the statement */
  async #control(sql: string, isSimple: boolean): Promise<boolean> {
    if (await this.#cursor(sql, isSimple)) return true
    const answer = this.#session.answer(sql)
    if (answer === undefined) return false
    if (answer.tag.startsWith('DISCARD')) {
      this.#prepared.close(null)
      this.#portals.closeAll()
    }
    if (answer.changed !== undefined) this.#out.setting(...answer.changed)
    const path = this.#session.setting('search_path') ?? ''
    this.#db = this.#deps.projectOf(firstSchema(path) ?? this.#database)
    if (answer.shown !== undefined) {
      const { name, value } = answer.shown
      const columns = [{ name, type: 'VARCHAR' }]
      if (isSimple) this.#out.rowDescription(columns, [])
      this.#out.dataRow([value], [columnType('VARCHAR')], [])
    }
    this.#out.complete(answer.tag)
    return true
  }

  /** @returns false if the statement is not about a cursor */
  async #cursor(sql: string, isSimple: boolean): Promise<boolean> {
    const statement = cursorStatement(sql)
    if (statement === undefined) return false
    const { kind, name } = statement
    if (kind === 'declare') {
      const prepared = { sql: statement.select, oids: [], given: [] }
      const { isHeld } = statement
      this.#portals.set(name, { prepared, values: [], formats: [], isHeld, running: null })
      this.#out.complete('DECLARE CURSOR')
    } else if (kind === 'fetch') {
      await this.#fetch(statement, isSimple)
    } else if (kind === 'close') {
      if (name === null) this.#portals.closeAll()
      else this.#portals.close(name)
      this.#out.complete('CLOSE CURSOR')
    } else {
      this.#prepared.close(name)
      this.#out.complete('DEALLOCATE')
    }
    return true
  }

  async #fetch(
    { name, count, isMove }: Extract<CursorStatement, { kind: 'fetch' }>,
    isSimple: boolean,
  ): Promise<void> {
    const portal = this.#portals.get(name, 'cursor')
    const running = await this.#portals.started(portal)
    if (isSimple && !isMove) this.#out.rowDescription(running.columns, [])
    let done = 0
    while (count === null || done < count) {
      const row = await running.next()
      if (row === undefined) break
      done += 1
      if (!isMove) await this.#row(row, running, portal)
    }
    this.#out.complete(`${isMove ? 'MOVE' : 'FETCH'} ${done}`)
  }

  async #row(row: readonly ResultValue[], { types }: RunningPortal, portal: Portal): Promise<void> {
    this.#out.dataRow(row, types, portal.formats)
    if (this.#out.isFull) await this.#deps.send()
  }

  parse(fields: Fields): void {
    const name = fields.text()
    const sql = fields.text()
    const given = Array.from({ length: fields.int16() }, () => fields.int32() >>> 0)
    this.#prepared.add(name, sql, given)
    this.#out.begin('1').end()
  }

  async bind(fields: Fields): Promise<void> {
    const portalName = fields.text()
    const name = fields.text()
    const prepared = this.#prepared.get(name)
    const { values: sent, formats } = boundValues(fields, prepared.oids)
    const { oids } = sent.some(mayBeArray) ? await this.#typed(name) : prepared
    const values = sent.map((value, index) => {
      const oid = oids[index] ?? 0
      return mayBeArray(value) && elementOf(oid) !== undefined
        ? arrayValue(value.text ?? '', oid)
        : value
    })
    this.#portals.set(portalName, { prepared, values, formats, running: null })
    this.#out.begin('2').end()
  }

  async describe(fields: Fields): Promise<void> {
    const isPortal = fields.bytes(1)?.toString() === 'P'
    const name = fields.text()
    if (isPortal) {
      const portal = this.#portals.get(name, 'portal')
      const known = knownColumns(portal.prepared.sql, this.#session)
      const columns = known === undefined ? (await this.#portals.started(portal)).columns : known
      this.#out.rowDescription(columns, portal.formats)
      return
    }
    const { sql, oids } = await this.#typed(name)
    this.#out.begin('t').int16(oids.length)
    for (const oid of oids) this.#out.int32(oid)
    this.#out.end()
    const known = knownColumns(sql, this.#session)
    if (known !== undefined) {
      this.#out.rowDescription(known, [])
      return
    }
    const columns = await this.#run(describing(sql, oids), describedColumns)
    this.#out.rowDescription(columns, [])
  }

  /** The prepared statement with its parameter types, which the client asked for. */
  async #typed(name: string): Promise<Prepared> {
    const prepared = this.#prepared.get(name)
    const question = typeQuestion(prepared)
    if (question === undefined) return prepared
    const typed = await this.#run({ sql: question, params: {} }, (answer) => {
      return withColumnTypes(prepared, answer)
    })
    this.#prepared.replace(name, typed)
    return typed
  }

  async execute(fields: Fields): Promise<void> {
    const name = fields.text()
    const wanted = fields.int32()
    const portal = this.#portals.get(name, 'portal')
    const { sql } = portal.prepared
    if (this.#session.state === 'E' && !ENDS.test(sql)) throw transactionFailed()
    if (sql === '') {
      this.#out.begin('I').end()
      return
    }
    if (portal.running === null) {
      if (await this.#control(sql, false)) return
      if ((await this.#copied(sql, false)) !== 'no') return
    }
    await this.#rows(portal, wanted)
  }

  /** Sends all rows or the requested number, then the total, or a message that more rows remain. */
  async #rows(portal: Portal, wanted: number): Promise<void> {
    const running = await this.#portals.started(portal)
    let count = 0
    for (let row = await running.next(); row !== undefined; row = await running.next()) {
      await this.#row(row, running, portal)
      count += 1
      if (wanted > 0 && count >= wanted) {
        this.#out.begin('s').end()
        return
      }
    }
    await running.end()
    portal.running = null
    this.#out.complete(tagOf(portal.prepared.sql, running, count))
  }

  async #run<T>(
    { sql, params }: { readonly sql: string; readonly params: Readonly<Record<string, unknown>> },
    use: (result: RunResult) => Promise<T>,
  ): Promise<T> {
    this.#running = new AbortController()
    const isReadOnly = this.#session.state !== 'I'
    const options = { sql, database: this.#database, db: this.#db, params, isReadOnly }
    try {
      return await this.#deps.run(options, this.#running.signal, (result) => {
        for (const warning of result.warnings) this.#out.notice(warning)
        return use(result)
      })
    } catch (error) {
      if (isReadOnly && hasCode(error, 'sql_not_a_query')) {
        const message =
          'Transactions are read-only: turn on autocommit for statements that change something'
        throw new AppError('sql_not_supported', message)
      }
      throw error
    }
  }

  closeNamed(fields: Fields): void {
    const isPortal = fields.bytes(1)?.toString() === 'P'
    const name = fields.text()
    if (isPortal) this.#portals.close(name)
    else this.#prepared.close(name)
    this.#out.begin('3').end()
  }

  sync(): void {
    this.#skips = false
    if (this.#session.state === 'I') this.#portals.endTransaction()
    this.ready()
  }

  flush(): void {}

  async copyData(fields: Fields): Promise<void> {
    await this.#copyIn?.rows.push(fields.rest())
  }

  async copyDone(): Promise<void> {
    const copy = this.#copyIn
    this.#copyIn = null
    if (copy === null) return
    try {
      this.#out.complete(`COPY ${await copy.rows.end()}`)
    } catch (error) {
      this.#closed.signal.throwIfAborted()
      this.#failed(error)
      this.#skips = !copy.isSimple
    }
    if (copy.isSimple) this.ready()
  }

  copyFail(fields: Fields): void {
    const copy = this.#copyIn
    this.#copyIn = null
    this.#failed(new AppError('cancelled', `COPY from stdin failed: ${fields.text()}`))
    if (copy?.isSimple === true) this.ready()
    else this.#skips = true
  }

  /** @returns `waits` if the client will now send the rows to store */
  async #copied(sql: string, isSimple: boolean): Promise<'no' | 'done' | 'waits'> {
    const copy = copyStatement(sql)
    if (copy === undefined) return 'no'
    if (copy.direction === 'in') {
      const oids = await this.#run({ sql: `${copy.select} LIMIT 0`, params: {} }, columnOids)
      const rows = new CopyIn(copy, oids, (insert) => {
        return this.#run(insert, async ({ affectedRows }) => affectedRows ?? 0)
      })
      this.#copyIn = { rows, isSimple }
      this.#out.copyResponse('G', oids.length, copy.format === 'binary' ? 1 : 0)
      return 'waits'
    }
    const count = await this.#run({ sql: copy.select, params: {} }, (result) => {
      return copyOut(result, copy, this.#out, this.#deps.send)
    })
    this.#out.complete(`COPY ${count}`)
    return 'done'
  }

  #failed(error: unknown, sql = ''): void {
    this.#session.failed()
    this.#out.failure(toAppError(error), { sql })
  }
}
