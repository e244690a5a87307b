/**
 * The tokens must show what DuckDB will read: where a statement and a text end, and what is a
 * comment.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../src/core/errors.ts'
import { constantText, nodesOf, parseTree, walk } from '../../src/sql/ast/select-ast.ts'
import { toDuckDB, tokenize } from '../../src/sql/lexer/tokens.ts'
import { openStore, type Store } from '../../src/store/store.ts'

let store: Store
beforeAll(async () => {
  store = await openStore({ directory: ':memory:' })
})
afterAll(() => store.close())

const character = fc.constantFrom(...'abé😀\'"\\;-/*$ \t\n\r:@?{}()`n\u00a0\u2028')
const content = fc.array(character, { maxLength: 8 }).map((parts) => parts.join(''))

/** A text, written in one of the ways that SQL has. */
const literal = fc.tuple(content, fc.nat(3)).map(([text, form]) => {
  const doubled = text.replaceAll("'", "''")
  if (form === 1) return `E'${doubled.replaceAll('\\', '\\\\')}'`
  if (form === 2 && !text.includes('$')) return `$$${text}$$`
  if (form === 3 && !text.includes('$')) return `$é1$${text}$é1$`
  return `'${doubled}'`
})
const comment = content
  .map((text) => text.replaceAll(/[*/\n\r]/g, ''))
  .chain((text) => {
    const nested = `/*${text}/*;'*/${text}*/`
    return fc.constantFrom(' ', '\n', '\u00a0', '\u2028', '/**/', nested, `-- ${text};'\n`)
  })

test('each text is the one that DuckDB reads', async () => {
  const items = fc.array(fc.tuple(comment, literal, comment), { minLength: 1, maxLength: 6 })
  const property = fc.asyncProperty(items, async (parts) => {
    const sql = `SELECT ${parts.map((part) => part.join('')).join(',')}`
    let tokens: ReturnType<typeof tokenize>
    try {
      tokens = tokenize(sql)
      toDuckDB(sql, tokens)
    } catch (error) {
      expect(error).toBeInstanceOf(AppError)
      return
    }
    const tree = await treeOf(toDuckDB(sql, tokens))
    if (tree === undefined) return
    const read = [...walk(tree)].flatMap((node) => constantText(node) ?? [])
    const texts = tokens.filter(({ kind }) => kind === 'string').map(({ value }) => value)
    expect(read).toEqual(texts)
  })
  const found: [string, string, string][][] = [
    ['$$$$', "$$'$$", "'\u00a0'"],
    ['$$$$', '$$"$$', "'\u2003'"],
  ].map((texts) => texts.map((text) => [' ', text, ' ']))
  const examples = found.map((parts): [typeof parts] => [parts])
  await fc.assert(property, { numRuns: 300, examples })
})

test('what is taken for one statement is one', async () => {
  const sign = fc.constantFrom(
    ...`' " \` $$ $a$ $é$ -- /* */ // \\ ; , E' e' \n \r 1 a SELECT ( ) [ ] : :: := -> * - / \u2028`.split(
      ' ',
    ),
  )
  const noise = fc.array(sign, { maxLength: 14 }).map((signs) => `SELECT 1 ${signs.join('')} 2`)
  const property = fc.asyncProperty(noise, async (sql) => {
    for (const escapes of ['standard', 'backslash'] as const) {
      try {
        const tree = await treeOf(toDuckDB(sql, tokenize(sql, escapes)))
        if (tree !== undefined) expect(nodesOf(tree.statements)).toHaveLength(1)
      } catch (error) {
        expect(error).toBeInstanceOf(AppError)
      }
    }
  })
  await fc.assert(property, { numRuns: 1000 })
})

/** Returns undefined if DuckDB cannot read it. */
async function treeOf(sql: string) {
  try {
    return parseTree(await store.engine.parse(sql))
  } catch (error) {
    expect(error).toBeInstanceOf(AppError)
    return undefined
  }
}
