import { describe, expect, test } from 'bun:test'
import { formParts } from '../../src/api/http/bodies/received-files.ts'

const TYPE = 'multipart/form-data; boundary=b'

/** Splits the body into pieces of this many bytes. */
async function* pieces(body: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < body.length; start += size) yield body.slice(start, start + size)
}

async function partsOf(body: string | Uint8Array, size = 1 << 20, type = TYPE) {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const found: { name: string; fileName: string | null; type: string | null; text: string }[] = []
  for await (const { name, fileName, contentType, content } of formParts(
    pieces(bytes, size),
    type,
  )) {
    const read = Buffer.concat(await Array.fromAsync(content, (piece) => piece.slice()))
    found.push({ name, fileName, type: contentType, text: read.toString('latin1') })
  }
  return found
}

function part(head: string, content: string): string {
  return `--b\r\n${head}\r\n\r\n${content}\r\n`
}

const FIELD = part('Content-Disposition: form-data; name="x"', 'a\r\n--c\r\n-')
const FILE = part(
  'content-disposition: form-data; name="file"; filename="a \\"b\\".csv"\r\nContent-Type: text/csv',
  '\r\n--\r\n',
)

describe('a form', () => {
  test.each([1, 2, 3, 5, 7, 64, 1000])('is the same in pieces of %p bytes', async (size) => {
    expect(await partsOf(`preamble\r\n${FIELD}${FILE}--b--\r\nepilogue`, size)).toEqual([
      { name: 'x', fileName: null, type: null, text: 'a\r\n--c\r\n-' },
      { name: 'file', fileName: 'a "b".csv', type: 'text/csv', text: '\r\n--\r\n' },
    ])
  })

  test('as this runtime writes it is read back', async () => {
    const form = new FormData()
    const bytes = crypto.getRandomValues(new Uint8Array(100_000))
    form.append('größe', 'ä"\n')
    form.append('file', new File([bytes], 'Ré "1".bin'))
    const sent = new Response(form)
    const type = sent.headers.get('content-type') ?? ''
    const body = new Uint8Array(await sent.arrayBuffer())
    const [field, file] = await partsOf(body, 999, type)
    expect(field?.name).toBe('größe')
    expect(file?.fileName).toBe('Ré "1".bin')
    expect(Buffer.from(file?.text ?? '', 'latin1').equals(bytes)).toBe(true)
  })

  test('may write the names of files in other ways', async () => {
    const names = [
      ['filename*=UTF-8\'\'R%C3%A9.pdf; filename="R.pdf"', 'Ré.pdf'],
      ['filename=plain.txt', 'plain.txt'],
      ['filename="%22q%22.txt"', '"q".txt'],
      ['filename=""', ''],
    ]
    for (const [written, name] of names) {
      const [found] = await partsOf(
        `${part(`content-disposition: form-data; name=f; ${written}`, '')}--b--`,
      )
      expect(found?.fileName).toBe(name ?? '')
    }
  })

  test('continues after a part that is not read', async () => {
    const body = new TextEncoder().encode(`${FILE}${FIELD}--b--`)
    const names: string[] = []
    for await (const { name } of formParts(pieces(body, 3), TYPE)) names.push(name)
    expect(names).toEqual(['file', 'x'])
  })

  test.each([
    ['without a boundary', FIELD, 'multipart/form-data', 'names no boundary'],
    ['with another boundary', `${FIELD}--b--`, `${TYPE}x`, 'ends too early'],
    ['that ends in a part', FIELD.slice(0, -8), TYPE, 'ends too early'],
    ['without its end', FIELD, TYPE, 'ends too early'],
    [
      'with a part without a name',
      `${part('content-type: text/plain', 'x')}--b--`,
      TYPE,
      'no name',
    ],
    [
      'with a head of 20 kB',
      `${part(`a: ${'x'.repeat(20_000)}`, '')}--b--`,
      TYPE,
      'more than 16384',
    ],
    ['with two thousand and one parts', `${FIELD.repeat(2001)}--b--`, TYPE, 'more than 2000 parts'],
    ['with a boundary in a word', '--bx\r\n\r\n\r\n', TYPE, 'followed by something else'],
  ])('%s is refused', async (_, body, type, why) => {
    await expect(partsOf(body, 1 << 20, type)).rejects.toThrow(why)
  })
})
