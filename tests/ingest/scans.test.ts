import { afterAll, expect, test } from 'bun:test'
import type { ChatModel } from '../../src/core/domain/ports/model-ports.ts'
import type { ReadDocument, ReadingOptions } from '../../src/core/domain/ports/reading-ports.ts'
import { DocumentReader, documentReaderOptions } from '../../src/ingest/readers/document-reader.ts'
import { withTexts } from '../../src/ingest/readers/scans.ts'
import { chatModelOf } from '../../src/models/registries/chat-registry.ts'
import { drawnPdf, line } from '../reading/drawn-pdf.ts'
import { tinyPptx } from '../reading/tiny-office.ts'
import { never } from './insert-fixture.ts'

const SCAN = 'q 500 0 0 500 50 50 cm /Im1 Do Q'
const closing: (() => unknown)[] = []

afterAll(() => Promise.all(closing.map((close) => close())))

interface Sent {
  readonly path: string
  readonly image: Buffer
}

type Answer = string | { readonly status: number } | { readonly finish: string }

/** A server that answers one picture after the other as scripted, in the form of either API. */
function scripted(answers: readonly Answer[]) {
  const sent: Sent[] = []
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const { pathname: path } = new URL(request.url)
      const text = await request.text()
      const data = /"(?:data|url)":"(?:data:image\/\w+;base64,)?([A-Za-z0-9+/=]{20,})"/.exec(
        text,
      )?.[1]
      const answer = answers[sent.length] ?? ''
      sent.push({ path, image: Buffer.from(data ?? '', 'base64') })
      if (typeof answer === 'object' && 'status' in answer) {
        return Response.json({ error: { message: 'no' } }, { status: answer.status })
      }
      const content = typeof answer === 'string' ? answer : 'I cannot help with that'
      const finish = typeof answer === 'string' ? null : answer.finish
      if (path.endsWith('/messages')) {
        const stop_reason = finish ?? 'end_turn'
        const usage = { input_tokens: 100, output_tokens: 10 }
        const base = { id: '1', type: 'message', role: 'assistant', model: 'm', usage }
        return Response.json({ ...base, content: [{ type: 'text', text: content }], stop_reason })
      }
      const message = { role: 'assistant', content }
      const choices = [{ index: 0, message, finish_reason: finish ?? 'stop' }]
      const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
      return Response.json({ id: '1', object: 'chat.completion', created: 1, choices, usage })
    },
  })
  closing.push(() => server.stop(true))
  return { sent, url: `http://127.0.0.1:${server.port}/v1` }
}

function readerOf(url: string, provider: 'openai' | 'anthropic' = 'openai'): DocumentReader {
  const ref = { provider, modelName: 'sees', baseUrl: url, apiKey: 'k', options: {} }
  const network = { setting: 'EIDER_NETWORK_ALLOW', entries: [], isOpen: true }
  const model = (): Promise<ChatModel> => {
    return chatModelOf(ref, { network }, { embed: () => Promise.resolve([]) })
  }
  const costOf = (usages: readonly unknown[]) => usages.length / 100
  const reader = new DocumentReader({
    ...documentReaderOptions(),
    ocr: { name: 'sees', model, costOf },
  })
  closing.push(() => reader.close())
  return reader
}

async function read(
  reader: DocumentReader,
  bytes: Uint8Array,
  name: string,
  options: ReadingOptions = {},
) {
  const sent = { bytes, name, contentType: null, url: null, options }
  return reader.readFile(
    sent,
    async ({ documents, warnings, recognized, format }) => {
      const all: ReadDocument[] = []
      for await (const document of documents) all.push(document)
      return { document: all[0], warnings, recognized, format }
    },
    never,
  )
}

test('pages without text are drawn, read by the model and put in their place', async () => {
  const { sent, url } = scripted(['# Scanned\n\nWords', '# Scanned\n\nWords'])
  const pages = [SCAN, line('Typed text', 72, 700), SCAN]
  const found = await read(readerOf(url), drawnPdf({ pages }), 'a.pdf')
  expect(found.document?.content).toBe('# Scanned\n\nWords\n\nTyped text\n\n# Scanned\n\nWords')
  expect(found.document?.parts).toEqual({ unit: 'page', starts: [0, 18, 30] })
  expect(found.warnings).toEqual([])
  expect(found.recognized.ocr).toEqual({ model: 'sees', images: 2, tokens: 220, cost: 0.02 })
  expect(sent.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/chat/completions'])
  for (const { image } of sent) {
    expect(image.subarray(1, 4).toString()).toBe('PNG')
    expect([image.readUInt32BE(16), image.readUInt32BE(20)]).toEqual([1545, 2000])
  }
})

test('a file that the model would read is refused with the cost where that is asked for', async () => {
  const { sent, url } = scripted([])
  const pages = drawnPdf({ pages: [SCAN, line('Typed text', 72, 700), SCAN] })
  const reader = readerOf(url)
  await expect(read(reader, pages, 'a.pdf', { ocr: 'ask' })).rejects.toMatchObject({
    code: 'ocr_unconfirmed',
    message:
      '2 of 3 pages contain no text. sees can read them, for about 4,600 tokens, 0.02 by EIDER_MODEL_PRICES. ' +
      'Send it again with ocr=yes, or with ocr=no to leave them out',
  })
  const { document } = await read(reader, pages, 'a.pdf', { ocr: 'no' })
  expect(document?.content).toBe('Typed text')
  expect(sent).toEqual([])
  const typed = drawnPdf({ pages: [line('Typed text', 72, 700)] })
  const { warnings } = await read(reader, typed, 'b.pdf', { ocr: 'ask' })
  expect(warnings).toEqual([])
})

test('Anthropic’s API takes them too', async () => {
  const { sent, url } = scripted(['Words'])
  const found = await read(readerOf(url, 'anthropic'), drawnPdf({ pages: [SCAN] }), 'a.pdf')
  expect(found.document?.content).toBe('Words')
  expect(sent[0]?.path).toEndWith('/messages')
})

test('an answer that is empty, too long, refused or fails is a warning on its page', async () => {
  const answers: Answer[] = ['', 'x'.repeat(60_000), { finish: 'content_filter' }, { status: 400 }]
  const { url } = scripted(answers)
  const pages = [line('Typed text', 72, 700), SCAN, SCAN, SCAN, SCAN]
  const { document, warnings } = await read(readerOf(url), drawnPdf({ pages }), 'a.pdf')
  expect(document?.content).toBe('Typed text')
  expect(warnings.map((text) => text.replace(/^page \d/, 'page')).sort()).toEqual([
    expect.stringMatching(/^page was not read: .*400/),
    'page was not read: the OCR model answered more than 50000 characters',
    'page was not read: the OCR model found no text',
    'page was not read: the OCR model refused it',
  ])
})

test('a file of nothing but scans that the model cannot read is refused', async () => {
  const { url } = scripted([''])
  await expect(read(readerOf(url), drawnPdf({ pages: [SCAN] }), 'a.pdf')).rejects.toMatchObject({
    code: 'file_unreadable',
    message: 'The file contains no text: page 1 was not read: the OCR model found no text',
  })
})

/** Starts like a PNG, and no test reads the rest. */
const PICTURE = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(9000, 'x')])

test('a picture file is a document; without a model it says what to set', async () => {
  const { url } = scripted(['On the sign: Open'])
  const found = await read(readerOf(url), PICTURE, 'sign.png')
  expect(found).toMatchObject({ format: 'image', document: { content: 'On the sign: Open' } })
  const plain = new DocumentReader()
  closing.push(() => plain.close())
  await expect(read(plain, PICTURE, 'sign.png')).rejects.toThrow('Set an OCR model')
})

test('pictures on slides are read where they are', async () => {
  const { url } = scripted(['Sales: 12'])
  const pic = '<p:pic><p:blipFill><a:blip r:embed="rId9"/></p:blipFill></p:pic>'
  const bytes = tinyPptx([pic], {
    'ppt/slides/_rels/slide1.xml.rels':
      '<Relationships><Relationship Id="rId9" Type="x/image" Target="../media/a.gif"/></Relationships>',
    'ppt/media/a.gif': `GIF89a${'x'.repeat(9000)}`,
  })
  const { document } = await read(readerOf(url), bytes, 'a.pptx')
  expect(document?.content).toContain('Sales: 12')
})

test('what follows a scan begins later by its text', () => {
  const content = '\uFDD00\uFDD1\n\nTyped\n\n\uFDD01\uFDD1'
  const parts = { unit: 'page', starts: [0, 5, 12] } as const
  const document = { id: null, title: null, syntax: 'markdown', columns: {}, links: [] } as const
  const found = withTexts({ ...document, content, parts }, ['', 'End'])
  expect(found.content).toBe('Typed\n\nEnd')
  expect(found.parts?.starts).toEqual([0, 0, 7])
})
