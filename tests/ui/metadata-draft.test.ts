import { expect, test } from 'bun:test'
import {
  changesOf,
  type DraftField,
  differences,
  draftOf,
  overStored,
  textsOver,
} from '../../src/ui/views/knowledge-base/document-form.tsx'

const TYPES = {
  year: 'BIGINT',
  price: 'DOUBLE',
  day: 'DATE',
  seen: 'TIMESTAMP',
  isGood: 'BOOLEAN',
  tags: 'JSON',
  note: 'VARCHAR',
  huge: 'HUGEINT',
}

function typed(draft: readonly DraftField[], texts: Readonly<Record<string, string>>) {
  return draft.map((field) => ({ ...field, text: texts[field.name] ?? field.text }))
}

test('each value has the control of its type, values that do not fit are text', () => {
  const kinds = draftOf({ price: 2, day: 'soon', other: true, list: [1] }, TYPES)
  expect(Object.fromEntries(kinds.map(({ name, kind }) => [name, kind]))).toEqual({
    price: 'number',
    day: 'text',
    other: 'boolean',
    list: 'json',
    year: 'number',
    seen: 'time',
    isGood: 'boolean',
    tags: 'json',
    note: 'text',
    huge: 'number',
  })
})

test('only what was typed over is sent, with its type; empty takes a value away', () => {
  const stored = { year: 1999, price: 2.5, note: 'old', tags: ['a'], seen: '2024-01-02 03:04:05' }
  const draft = draftOf(stored, TYPES)
  expect(changesOf(draft)).toEqual({})
  expect(overStored(stored, changesOf(draft))).toEqual(stored)
  const texts = { year: '2001', price: '', isGood: 'false', day: '2024-05-06', tags: '["a", "b"]' }
  expect(changesOf(typed(draft, texts))).toEqual({
    year: 2001,
    price: null,
    isGood: false,
    day: '2024-05-06',
    tags: ['a', 'b'],
  })
  expect(changesOf(typed(draft, { seen: '2024-01-02T03:05' }))).toEqual({
    seen: '2024-01-02 03:05',
  })
  expect(overStored(stored, changesOf(typed(draft, texts)))).not.toHaveProperty('price')
})

test('whole numbers beyond those of JSON keep their digits, what is wrong is named', () => {
  const draft = draftOf({ huge: 1 }, TYPES)
  expect(changesOf(typed(draft, { huge: '170141183460469231731' }))).toEqual({
    huge: '170141183460469231731',
  })
  expect(() => changesOf(typed(draft, { tags: '[1' }))).toThrow('"tags" is not JSON')
})

test('what another window changed stays where nothing was typed over it', () => {
  const draft = typed(draftOf({ price: 1, note: 'x', year: 1999 }, TYPES), { price: '2', year: '' })
  const now = { price: 5, note: 'theirs', year: 2000, more: true, day: null }
  expect(overStored(now, changesOf(draft))).toEqual({ price: 2, note: 'theirs', more: true })
  const opened = { body: 'a', summary: 'b' }
  const stored = { body: 'a', summary: 'theirs' }
  expect(textsOver(stored, opened, { body: 'mine', summary: 'b' })).toEqual({
    body: 'mine',
    summary: 'theirs',
  })
})

test('what another window changed is said', () => {
  const one = { content: { content: 'a' }, metadata: { price: 1, note: 'x' } }
  const other = { content: { content: 'b' }, metadata: { price: 2, note: 'x', more: true } }
  expect(differences(one, one)).toBe('')
  expect(differences(one, other)).toBe('its text, "price", "more"')
})
