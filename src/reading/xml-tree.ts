import { Parser } from 'htmlparser2'
import { unreadable } from './document-format.ts'
import { READING_LIMITS } from './reading-limits.ts'
import { decodeText } from './text-encoding.ts'

/** An element by its local name, because each part of a document format uses one vocabulary. */
export interface XmlElement {
  readonly name: string
  /** By their names as written, with prefixes. */
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlNode[]
}

type XmlNode = XmlElement | string

interface OpenElement extends XmlElement {
  readonly children: XmlNode[]
}

/** Never expands entities of a document. @throws AppError if it is nested too deeply */
export function parseXml(bytes: Uint8Array): XmlElement {
  const root: OpenElement = { name: '', attributes: {}, children: [] }
  const open: OpenElement[] = [root]
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (open.length > READING_LIMITS.xmlDepthMax) {
          const limit = `${READING_LIMITS.xmlDepthMax} levels`
          throw unreadable(`XML nested deeper than ${limit}`)
        }
        const element: OpenElement = { name: localName(name), attributes, children: [] }
        open.at(-1)?.children.push(element)
        open.push(element)
      },
      ontext(text) {
        const siblings = (open.at(-1) ?? root).children
        const last = siblings.at(-1)
        if (typeof last === 'string') siblings[siblings.length - 1] = last + text
        else siblings.push(text)
      },
      onclosetag() {
        if (open.length > 1) open.pop()
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(decodeText(bytes, declaredEncoding(bytes)))
  return root
}

export function parsedPart(bytes: Uint8Array | undefined): XmlElement | undefined {
  return bytes === undefined ? undefined : parseXml(bytes)
}

function declaredEncoding(bytes: Uint8Array): string | null {
  const begin = new TextDecoder('latin1').decode(bytes.subarray(0, 200))
  return /^<\?xml[^>]{0,100}encoding\s*=\s*["']([\w-]{1,40})/.exec(begin)?.[1] ?? null
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** Returns the value of an attribute by its local name. */
export function attribute(element: XmlElement | undefined, name: string): string | undefined {
  if (element === undefined) return undefined
  const own = element.attributes[name]
  if (own !== undefined) return own
  const suffix = `:${name}`
  for (const key in element.attributes) {
    if (key.endsWith(suffix)) return element.attributes[key]
  }
  return undefined
}

export function isElement(node: XmlNode): node is XmlElement {
  return typeof node !== 'string'
}

export function elementsOf(element: XmlElement | undefined): readonly XmlElement[] {
  return element?.children.filter(isElement) ?? []
}

/** Returns the child with that name, or the one at the end of a path of names. */
export function child(
  element: XmlElement | undefined,
  ...path: readonly string[]
): XmlElement | undefined {
  let at = element
  for (const name of path) at = elementsOf(at).find((one) => one.name === name)
  return at
}

/** In document order, but none inside those found. */
export function* descendants(
  element: XmlElement | undefined,
  ...names: readonly string[]
): Generator<XmlElement> {
  for (const one of elementsOf(element)) {
    if (names.includes(one.name)) yield one
    else yield* descendants(one, ...names)
  }
}

export function textOf(node: XmlNode | undefined): string {
  if (node === undefined) return ''
  return typeof node === 'string' ? node : node.children.map(textOf).join('')
}
