import type TurndownService from 'turndown'
import { all, holds, isElement, namesOf, oneLine } from './elements.ts'

const BLOCKS = 'ul, ol, dl, table, blockquote, h1, h2, h3, h4, h5, h6, p + p, div + div, p + div'

/**
 * Terms with their definitions. Where each is a paragraph at most, a list: `- **term**: definition`; else the term is a
 * paragraph of its own, with the definition below it.
 */
export function definitionLists(turndown: TurndownService): void {
  const known = new WeakMap<Element, boolean>()
  const isShort = (item: Element): boolean => {
    const list = listOf(item)
    if (list === null) return false
    const answer = known.get(list) ?? hasShortItems(list)
    known.set(list, answer)
    return answer
  }
  turndown.addRule('definitionTerm', {
    filter: 'dt',
    replacement: (content, node) => {
      if (!isElement(node)) return content
      const isItem = isShort(node)
      const term = termOf(node, isItem ? content.trim().replace(/\s*:$/, '') : content)
      if (term === '') return ''
      if (!isItem) return `\n\n${term}\n\n`
      const next = node.nextElementSibling
      if (next?.nodeName === 'DT') return `- ${term}\n`
      return next === null ? `- ${term}\n` : `- ${term}: `
    },
  })
  turndown.addRule('definition', {
    filter: 'dd',
    replacement: (content, node) => {
      const text = content.trim()
      if (!isElement(node) || !isShort(node)) return `\n\n${text}\n\n`
      const isSecond = node.previousElementSibling?.nodeName !== 'DT'
      const line = text.replace(/\s*\n\s*/g, ' ')
      if (line === '') return '\n'
      return isSecond ? `- ${line}\n` : `${line}\n`
    },
  })
  turndown.addRule('definitionList', {
    filter: 'dl',
    replacement: (content) => `\n\n${content.trim()}\n\n`,
  })
}

/** Items may stand in a `div` each. */
function listOf(item: Element): Element | null {
  const parent = item.parentElement
  return parent?.nodeName === 'DIV' ? parent.parentElement : parent
}

function hasShortItems(list: Element): boolean {
  // The parts of a manual look alike, however long they are.
  if (holds(list, 'dt.sig, dt.descname')) return false
  return all(list, 'dd').every((definition) => {
    const isBlock = holds(definition, BLOCKS)
    return !isBlock && !(definition.textContent ?? '').includes('\uFDD0')
  })
}

/** A signature is code: its stars and underscores are not emphasis. */
function termOf(term: Element, content: string): string {
  const text = oneLine(term.textContent)
  if (text === '') return ''
  if (/(?:^|\s)(?:sig|descname|sig-object)(?:\s|$)/.test(namesOf(term))) return `\`${text}\``
  const line = oneLine(content)
  return /[*`]/.test(line) ? line : `**${line}**`
}
