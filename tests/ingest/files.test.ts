import { describe, expect, test } from 'bun:test'
import type { Row } from '../../src/core/domain/document.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { UploadedFile } from '../../src/core/domain/uploaded-file.ts'
import { insert } from '../../src/ingest/pipeline/insert.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { fixture, never, noFiles, snapshotWith, uploadedFile } from './insert-fixture.ts'

interface Given {
  readonly file: UploadedFile
  readonly rows: readonly Row[]
}

async function inserted(given: readonly Given[], names: readonly string[], kb: KnowledgeBase) {
  const { store, deps } = fixture({
    snapshot: () => snapshotWith(given.map(({ file }) => file)),
    files: {
      ...noFiles,
      async *rows(table) {
        const rows = given.find((one) => one.file === table.file)?.rows ?? []
        yield* rows.filter(({ sheet = 0 }) => sheet === table.index).map(withoutSheet)
      },
    },
  })
  const crawl = { allowedDomains: [], patterns: [] }
  const report = await insert({ kb, files: names, crawl }, deps, never)
  return { store, report }
}

function withoutSheet({ sheet: _, ...row }: Row): Row {
  return row
}

const teas: Given = {
  file: uploadedFile({ name: 'teas', columns: ['ID', 'tea', 'price'] }),
  rows: [
    { ID: 1, tea: 'green', price: 9 },
    { ID: 2, tea: 'black', price: null },
  ],
}

describe('a table', () => {
  test('with a content column is taken as it is', async () => {
    const kb = knowledgeBase({ contentColumns: ['tea'] })
    const { store } = await inserted([teas], ['TEAS'], kb)
    expect(store.contents).toEqual({ '1': ['green'], '2': ['black'] })
    expect(store.metadataOf('1')).toEqual({ price: 9 })
  })

  test('without one becomes a text for each row', async () => {
    const { store } = await inserted([teas], ['teas'], knowledgeBase())
    expect(store.contents).toEqual({
      '1': ['ID: 1, tea: green, price: 9'],
      '2': ['ID: 2, tea: black'],
    })
    expect(store.metadataOf('1')).toEqual({ tea: 'green', price: 9 })
  })

  test('without an id numbers its rows', async () => {
    const file = uploadedFile({ name: 'list', columns: ['tea'] })
    const rows = [{ tea: 'green' }, { tea: 'green' }]
    const { store } = await inserted([{ file, rows }], ['list'], knowledgeBase())
    expect(store.contents).toEqual({ 'list:1': ['tea: green'], 'list:2': ['tea: green'] })
  })
})

describe('a workbook', () => {
  const sheet = (name: string, columns: readonly string[]) => ({ name, columns, rowCount: 1 })
  const file = uploadedFile({
    name: 'book.xlsx',
    format: 'xlsx',
    columns: ['id', 'tea'],
    rowCount: 1,
    sheets: [sheet('Teas', ['id', 'tea']), sheet('Prices', ['id', 'price'])],
  })
  // Of a row with `sheet`, the fake takes it as the sheet's index.
  const rows = [
    { id: 1, tea: 'green' },
    { sheet: 1, id: 1, price: 9 },
  ]
  const prices = { 'book.xlsx.Prices:1': ['id: 1, price: 9'] }

  test('is stored with all its sheets, and no row replaces one of another sheet', async () => {
    const { store } = await inserted([{ file, rows }], ['book'], knowledgeBase())
    expect(store.contents).toEqual({ '1': ['id: 1, tea: green'], ...prices })
  })

  test('keeps the ids of its sheets apart if they have a content column, too', async () => {
    const columns = ['id', 'content']
    const texts = { ...file, columns, sheets: [sheet('A', columns), sheet('B', columns)] }
    const given = [
      { id: 1, content: 'green' },
      { sheet: 1, id: 1, content: 'black' },
      { sheet: 1, id: null, content: 'white' },
    ]
    const { store } = await inserted([{ file: texts, rows: given }], ['book'], knowledgeBase())
    expect(Object.values(store.contents)).toEqual([['green'], ['black'], ['white']])
    expect(Object.keys(store.contents).slice(0, 2)).toEqual(['1', 'book.xlsx.B:1'])
  })

  test('gives only the rows of a sheet that is named, with their own ids', async () => {
    const { store } = await inserted([{ file, rows }], ['book.Prices'], knowledgeBase())
    expect(store.contents).toEqual({ '1': ['id: 1, price: 9'] })
  })
})

describe('a document', () => {
  const file = uploadedFile({ name: 'ducks', format: 'pdf', columns: ['id', 'content', 'title'] })
  const rows = [{ id: 'ducks', content: 'The eider.', title: 'Ducks', format: 'pdf' }]

  test('is one row with its name as id', async () => {
    const { store } = await inserted([{ file, rows }], ['ducks'], knowledgeBase())
    expect(store.contents).toEqual({ ducks: ['The eider.'] })
    expect(store.metadataOf('ducks')).toEqual({ title: 'Ducks', format: 'pdf' })
  })

  test('gives its text to the first content column, its name to the id column', async () => {
    const kb = knowledgeBase({ contentColumns: ['notes', 'title'], idColumn: 'key' })
    const { store } = await inserted([{ file, rows }], ['ducks'], kb)
    expect(store.contents).toEqual({ ducks: ['The eider.', 'Ducks'] })
    expect(store.documents.get('ducks')?.chunks[0]?.chunk.contentColumn).toBe('notes')
  })
})

test('a name that no file has stores nothing of the others', async () => {
  const work = inserted([teas], ['teas', 'nope'], knowledgeBase())
  await expect(work).rejects.toMatchObject({
    code: 'insert_failed',
    message:
      'Error during preprocessing and insertion: files: File with name nope does not exist. ' +
      'Nothing was stored',
  })
})
