import { describe, expect, test } from 'bun:test'
import type { Row, RowValue } from '../../src/core/domain/document.ts'
import { type ColumnMapping, documentOfRow } from '../../src/ingest/sources/document-of-row.ts'

const DEFAULT: ColumnMapping = {
  contentColumns: ['content'],
  metadataColumns: null,
  idColumn: null,
  idColumns: ['id'],
}

function idOf(id: Row[string]): string | null | undefined {
  return documentOfRow({ id, content: 'x' }, 0, DEFAULT)?.id
}

describe('ids', () => {
  test('of every type are text', () => {
    expect([idOf('a'), idOf(7), idOf(1.5), idOf(-0), idOf(true)]).toEqual([
      'a',
      '7',
      '1.5',
      '0',
      'true',
    ])
    expect([idOf({ a: [1] }), idOf([1, 'b'])]).toEqual(['{"a":[1]}', '[1,"b"]'])
  })

  test('that are empty or missing are left to the content', () => {
    expect([idOf(''), idOf('  '), idOf(null)]).toEqual([null, null, null])
    expect(documentOfRow({ content: 'x' }, 0, DEFAULT)?.id).toBeNull()
  })

  test('come from the named column, else from "id" in any case', () => {
    const rule = { ...DEFAULT, idColumns: ['order_id', 'id'] }
    expect(documentOfRow({ ORDER_ID: 1, id: 2, content: 'x' }, 0, rule)).toMatchObject({
      id: '1',
      metadata: { id: 2 },
    })
    expect(documentOfRow({ ID: 2, content: 'x' }, 0, rule)).toMatchObject({ id: '2', metadata: {} })
  })

  test('that are not text are refused: as text they would all be equal', () => {
    expect(() => idOf('a\ud800')).toThrow(
      'The id "a\\ud800" is not text: it holds a lone surrogate',
    )
    expect(idOf('a🦆')).toBe('a🦆')
    expect(new Set(['\ud800', '\udc00', '\ufffd'].map((key) => idOf({ key }))).size).toBe(3)
  })

  test('have a limit', () => {
    expect(() => idOf('x'.repeat(5000))).toThrow('An id has at most 4096 characters, found 5000')
  })
})

describe('content', () => {
  test('of every type is text', () => {
    const contentOf = (content: Row[string]) => {
      return documentOfRow({ id: 1, content }, 0, DEFAULT)?.texts[0]?.text
    }
    expect([contentOf(5), contentOf(false), contentOf({ a: 1 }), contentOf(['b'])]).toEqual([
      '5',
      'false',
      '{"a":1}',
      '["b"]',
    ])
  })

  test('that is empty leaves the document without texts', () => {
    for (const content of ['', ' \n', null]) {
      expect(documentOfRow({ id: 1, content }, 0, DEFAULT)).toMatchObject({ id: '1', texts: [] })
    }
  })

  test('of two columns keeps the one that is not empty, under the name that was configured', () => {
    const rule = { ...DEFAULT, contentColumns: ['Title', 'body'] }
    expect(documentOfRow({ id: 1, title: 't', body: '' }, 3, rule)).toEqual({
      id: '1',
      rowIndex: 3,
      texts: [{ column: 'Title', text: 't' }],
      metadata: {},
    })
  })

  test('that is missing is named, with the columns there are', () => {
    const message = 'Content column "content" not found; columns: id, text'
    expect(() => documentOfRow({ id: 1, text: 'x' }, 0, DEFAULT)).toThrow(message)
    expect(() => documentOfRow({}, 0, DEFAULT)).toThrow(/the row has no columns/)
    expect(() => documentOfRow(Object.create({ content: 'x' }), 0, DEFAULT)).toThrow(/not found/)
  })
})

describe('metadata', () => {
  test('is every other column, or those that are configured', () => {
    const row = { id: 1, content: 'x', A: 1, b: null }
    expect(documentOfRow(row, 0, DEFAULT)?.metadata).toEqual({ A: 1, b: null })
    const rule = { ...DEFAULT, metadataColumns: ['a', 'c'] }
    expect(documentOfRow(row, 0, rule)?.metadata).toEqual({ a: 1, c: null })
  })

  test('with the name of a prototype is a value like any other', () => {
    const row: Row = JSON.parse('{"id":1,"content":"x","__proto__":{"a":1},"constructor":2}')
    const metadata = documentOfRow(row, 0, DEFAULT)?.metadata ?? {}
    expect(Object.keys(metadata)).toEqual(['__proto__', 'constructor'])
    expect(JSON.stringify(metadata)).toBe('{"__proto__":{"a":1},"constructor":2}')
  })
})

describe('hostile rows', () => {
  test('lone surrogates are replaced one for one, everywhere', () => {
    const row = { id: 'i', content: 'a\udc00b\u0000', m: { 'k\ud800': ['v\ud800'] } }
    expect(documentOfRow(row, 0, DEFAULT)).toEqual({
      id: 'i',
      rowIndex: 0,
      texts: [{ column: 'content', text: 'a\ufffdb\u0000' }],
      metadata: { m: { 'k\ufffd': ['v\ufffd'] } },
    })
  })

  test('values that are nested without end are refused', () => {
    const deep: Row[string] = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)
    expect(() => documentOfRow({ id: 1, content: 'x', deep }, 0, DEFAULT)).toThrow(
      'A value is nested deeper than 200 levels',
    )
  })
})

test('a file in the text, as a data URL, is left out', () => {
  const url = `data:image/png;base64,${'iVBORw0KGgo'.repeat(20)}=`
  const texts = [
    [`Before ![Our logo](${url}) after`, 'Before Our logo after'],
    [`<img src="${url}" alt="Tea">`, '<img src="" alt="Tea">'],
    ['data:text/plain;base64,SGVsbG8= says Hello', 'data:text/plain;base64,SGVsbG8= says Hello'],
  ]
  for (const [content = '', stored = ''] of texts) {
    expect(documentOfRow({ content }, 0, DEFAULT).texts[0]?.text).toBe(stored)
  }
})

describe('the layout of a row', () => {
  const parts = { unit: 'page', starts: [0, 4] } as const
  const row = { id: 'r', content: 'one two', title: 'T', layout: { syntax: 'text', parts } }

  test('is that of its text, and not metadata', () => {
    expect(documentOfRow(row, 0, DEFAULT)).toMatchObject({
      texts: [{ column: 'content', layout: { title: 'T', syntax: 'text', parts } }],
      metadata: { title: 'T' },
    })
    expect(documentOfRow(row, 0, DEFAULT)?.metadata).toEqual({ title: 'T' })
    const named = { ...DEFAULT, metadataColumns: ['layout'] }
    expect(documentOfRow(row, 0, named)?.metadata).toEqual({ layout: row.layout })
  })

  test.each<RowValue>([
    'two columns',
    { syntax: 'text', parts, gap: 4 },
    { syntax: 'poem', parts: null },
    { syntax: 'text', parts: { unit: 'page', starts: [4, 0] } },
    { syntax: 'text', parts: { unit: 'page', starts: ['0'] } },
    { parts: null },
  ])('that means something else stays metadata: %p', (layout) => {
    const read = documentOfRow({ ...row, layout }, 0, DEFAULT)
    expect(read?.texts[0]).toEqual({ column: 'content', text: 'one two' })
    expect(read?.metadata).toEqual({ title: 'T', layout })
  })
})
