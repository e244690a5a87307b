import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { wholeDocument } from '../document-format.ts'
import {
  descendants,
  elementsOf,
  isElement,
  parseXml,
  textOf,
  type XmlElement,
} from '../xml-tree.ts'

/** Elements whose names say nothing about the text in them. */
const TEXT_NAMES =
  /^(p|para|simpara|text|t|li|item|entry|td|th|title|h\d|line|l|div|span|programlisting|screen)$/i
const NAMED_CHARS_MAX = 200

/** The text of any XML: a line for each element that holds text, with its name where it is a value. */
export function* readXml({ bytes }: RawDocument): Generator<ReadDocument> {
  const root = parseXml(bytes)
  const [title] = descendants(root, 'title')
  yield wholeDocument({
    content: linesOf(root).join('\n'),
    title: line(title) || null,
    syntax: 'text',
  })
}

function linesOf(element: XmlElement): string[] {
  if (/^(script|style)$/i.test(element.name)) return []
  const hasOwnText = element.children.some((node) => !isElement(node) && node.trim() !== '')
  if (!hasOwnText) return elementsOf(element).flatMap(linesOf)
  const text = line(element)
  const isValue = elementsOf(element).length === 0
  const isNamed = isValue && text.length <= NAMED_CHARS_MAX && !TEXT_NAMES.test(element.name)
  return [isNamed ? `${element.name}: ${text}` : text]
}

function line(element: XmlElement | undefined): string {
  return textOf(element).replace(/\s+/g, ' ').trim()
}
