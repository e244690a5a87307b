import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ResultValue } from '../../../src/core/domain/query-result.ts'
import { runQuery } from '../../../src/query/run/run-query.ts'
import { openSqlFixture, type SqlFixture } from '../../sql/sql-fixture.ts'

type Value = number | string | boolean | null

interface Stored {
  readonly text: string
  readonly values: Readonly<Record<string, Value>>
}

/** The model: what a knowledge base should contain. Documents by their IDs, each with one chunk. */
type Model = Map<string, Stored>

/**
 * A statement with its parameters, its effect on the model, and the number of rows that it affects.
 */
interface Step {
  readonly sql: string
  readonly params?: Readonly<Record<string, unknown>>
  apply(model: Model): number
}

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

async function run(sql: string, params: Readonly<Record<string, unknown>> = {}) {
  const request = { sql, db: 'mindsdb', params }
  const result = await runQuery(request, fixture.deps, new AbortController().signal)
  if (result.kind === 'ok') return { affected: result.affectedRows, rows: [] }
  const rows: (readonly ResultValue[])[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  return { affected: null, rows }
}

const id = fc.integer({ min: 0, max: 7 }).map((number) => `d${number}`)
const text = fc.oneof(
  fc.integer({ min: 0, max: 99 }).map((number) => `text ${number}`),
  fc.string({ minLength: 1, unit: 'binary' }).filter((one) => one.trim() !== ''),
)
const num = fc.option(fc.integer({ min: -5, max: 5 }))
const txt = fc.option(fc.string({ unit: 'grapheme' }))
// Larger integers arrive as text.
const double = fc.double({ min: -1e15, max: 1e15, noNaN: true }).map((one) => one + 0)
const mix = fc.oneof(num, txt, fc.boolean(), double)

const row = fc.record({ num, txt, mix, source: txt }, { requiredKeys: [] })

const insert = fc
  .tuple(fc.array(fc.record({ id, text }), { minLength: 1, maxLength: 3 }), row, fc.boolean())
  .map(([documents, values, skipsStored]): Step => {
    const names = Object.keys(values)
    const params: Record<string, unknown> = { ...values }
    const rows = documents.map((document, index) => {
      params[`id${index}`] = document.id
      params[`text${index}`] = document.text
      return `(${[`:id${index}`, `:text${index}`, ...names.map((name) => `:${name}`)].join(', ')})`
    })
    const columns = ['id', 'content', ...names].join(', ')
    const using = skipsStored ? ' USING kb_skip_existing = true' : ''
    return {
      sql: `INSERT INTO n (${columns}) VALUES ${rows.join(', ')}${using}`,
      params,
      apply(model) {
        // Of rows with the same ID, the last one counts.
        const last = new Map(documents.map((document) => [document.id, document]))
        const wanted = [...last.values()].filter((one) => !skipsStored || !model.has(one.id))
        // A row with only null has no value.
        for (const one of wanted) model.set(one.id, { text: one.text, values })
        return wanted.length
      },
    }
  })

/** A condition in SQL, and the same condition for the model. */
interface Condition {
  readonly sql: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly holds: (id: string, stored: Stored) => boolean
}

const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.constant<Condition>({ sql: 'true', holds: () => true }),
  id.map((one): Condition => ({ sql: `id = '${one}'`, holds: (found) => found === one })),
  fc.array(id, { minLength: 1 }).map((ids): Condition => {
    return { sql: 'n.id IN :ids', params: { ids }, holds: (found) => ids.includes(found) }
  }),
  fc.integer({ min: -5, max: 5 }).map((least): Condition => {
    const holds = (_: string, { values }: Stored) => {
      return typeof values.num === 'number' && values.num >= least
    }
    return { sql: `num >= ${least}`, holds }
  }),
  fc.constant<Condition>({
    sql: "metadata->>'txt' IS NULL",
    holds: (_, { values }) => (values.txt ?? null) === null,
  }),
  txt.map((source): Condition => {
    const holds = (_: string, { values }: Stored) => (values.source ?? null) === source
    return { sql: 'source IS NOT DISTINCT FROM :wanted', params: { wanted: source }, holds }
  }),
)

function matching(model: Model, { holds }: Condition): readonly (readonly [string, Stored])[] {
  return [...model].filter(([one, stored]) => holds(one, stored))
}

const remove = condition.map((where): Step => {
  const sql = `DELETE FROM n WHERE ${where.sql}`
  return {
    sql,
    params: where.params ?? {},
    apply(model) {
      const found = matching(model, where)
      for (const [one] of found) model.delete(one)
      return found.length
    },
  }
})

const setValues = fc.tuple(condition, row, fc.boolean()).map(([where, values, adds]): Step => {
  const own = Object.keys(values).map((name) => `${name} = :new_${name}`)
  const sets = adds ? ['num = num + 1', ...own.filter((set) => !set.startsWith('num '))] : own
  const entries = Object.entries(values).map(([name, value]) => [`new_${name}`, value])
  return {
    sql: `UPDATE n SET ${['same = 1', ...sets].join(', ')} WHERE ${where.sql}`,
    params: { ...where.params, ...Object.fromEntries(entries) },
    apply(model) {
      const found = matching(model, where)
      for (const [one, stored] of found) {
        const { num: old = null } = stored.values
        const added = typeof old === 'number' ? old + 1 : null
        const changed = { ...stored.values, ...values, ...(adds ? { num: added } : {}) }
        model.set(one, { ...stored, values: changed })
      }
      return found.length
    },
  }
})

const setText = fc
  .tuple(condition, text, fc.boolean(), num)
  .map(([where, content, isByChunk, number]): Step => {
    const byChunk = isByChunk ? " AND chunk_id LIKE '%:content:%'" : ''
    return {
      sql: `UPDATE n SET content = :new_text, num = :new_num WHERE (${where.sql})${byChunk}`,
      params: { ...where.params, new_text: content, new_num: number },
      apply(model) {
        const found = matching(model, where)
        for (const [one, { values }] of found) {
          model.set(one, { text: content, values: { ...values, num: number } })
        }
        return found.length
      },
    }
  })

const KEYS = ['num', 'txt', 'mix', 'source']

async function expectSame(model: Model): Promise<void> {
  const sql = 'SELECT id, chunk_content, num, txt, source, metadata FROM n ORDER BY id'
  const shown = (await run(sql)).rows.map(([one, content, number, found, source, metadata]) => {
    // This is an object, because it comes from the JSON of a chunk.
    const inMetadata = metadata as Readonly<Record<string, Value>>
    const columns = [number ?? null, found ?? null]
    expect([inMetadata.num ?? null, inMetadata.txt ?? null] as readonly unknown[]).toEqual(columns)
    return [one, content, ...columns, inMetadata.mix ?? null, source]
  })
  const expected = [...model.keys()].sort().map((one) => {
    const stored = model.get(one)
    return [one, stored?.text, ...KEYS.map((key) => stored?.values[key] ?? null)]
  })
  expect(shown).toEqual(expected)
}

test('after any INSERT, UPDATE and DELETE a SELECT shows what a model of them holds', async () => {
  const steps = fc.array(fc.oneof(insert, insert, setValues, setText, remove), { maxLength: 8 })
  // Every column exists in every row.
  const types = `INSERT INTO n (id, content, num, txt, mix, source) VALUES ('t', 'x', 1, 't', 1, 's')`
  const property = fc.asyncProperty(steps, async (taken) => {
    await run('DROP KNOWLEDGE_BASE IF EXISTS n')
    await run('CREATE KNOWLEDGE_BASE n')
    await run(types)
    await run("DELETE FROM n WHERE id = 't'")
    const model: Model = new Map()
    for (const { sql, params = {}, apply } of taken) {
      const { affected } = await run(sql, params)
      expect([sql, affected]).toEqual([sql, apply(model)])
      await expectSame(model)
    }
  })
  await fc.assert(property, { numRuns: 8 })
}, 180_000)
