import { describe, expect, test } from 'bun:test'
import type { RawDocument } from '../../src/core/domain/ports/reading-ports.ts'
import type { DocumentFormat } from '../../src/core/domain/uploaded-file.ts'
import { readDocument } from '../../src/reading/processes/read-file.ts'
import { tinyPdf } from './tiny-pdf.ts'

function raw(format: DocumentFormat, content: string | Uint8Array, url: string | null = null) {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return { bytes, format, charset: null, url } satisfies RawDocument
}

describe('text is decoded', () => {
  const bytes = (...codes: readonly number[]) => Uint8Array.from(codes)
  const cases: readonly [string, Uint8Array, string | null, string][] = [
    ['UTF-8', bytes(0x63, 0xc3, 0xa9), null, 'cé'],
    ['UTF-8 with a byte order mark', bytes(0xef, 0xbb, 0xbf, 0x63), null, 'c'],
    ['UTF-16 little endian', bytes(0xff, 0xfe, 0xe9, 0), null, 'é'],
    ['UTF-16 big endian', bytes(0xfe, 0xff, 0, 0xe9), null, 'é'],
    ['windows-1252 that nobody declared', bytes(0x63, 0xe9, 0x80), null, 'cé€'],
    ['a declared encoding', bytes(0xcf, 0xf0), 'windows-1251', 'Пр'],
    ['a declared UTF-8 that is none', bytes(0x63, 0xe9), 'utf-8', 'cé'],
    ['an encoding that does not exist', bytes(0x63, 0xc3, 0xa9), 'klingon', 'cé'],
    ['Windows line ends', bytes(0x61, 13, 10, 0x62), null, 'a\nb'],
  ]
  for (const [name, content, charset, expected] of cases) {
    test(name, async () => {
      const read = await readDocument({ ...raw('text', content), charset })
      expect(read.content).toBe(expected)
    })
  }

  test('a page’s own declaration', async () => {
    const html = '<html><head><meta charset="windows-1251"></head><body>'
    const content = Buffer.concat([Buffer.from(html), Buffer.from([0xcf, 0xf0])])
    expect((await readDocument(raw('html', content))).content).toBe('Пр')
  })
})

describe('PDF', () => {
  test('gives the text of its pages', async () => {
    const read = await readDocument(raw('pdf', tinyPdf(['Hello duck', 'Second page'])))
    expect(read.content).toBe('Hello duck\n\nSecond page')
  })

  test('with invalid content is unreadable', async () => {
    await expect(readDocument(raw('pdf', '%PDF-1.4 garbage'))).rejects.toMatchObject({
      code: 'file_unreadable',
    })
  })
})

test('Markdown stays as it is; its first heading is its title', async () => {
  const read = await readDocument(raw('markdown', 'intro\n\n## The *title* ##\ntext'))
  expect(read).toEqual({
    content: 'intro\n\n## The *title* ##\ntext',
    title: 'The title',
    links: [],
    id: null,
    syntax: 'markdown',
    parts: null,
    columns: {},
  })
})
