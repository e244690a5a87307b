import { isElement } from './elements.ts'

/** How much text an element holds, and how much of it leads elsewhere. Characters without white space. */
export interface TextWeight {
  readonly chars: number
  readonly linkedChars: number
  readonly links: number
  /** Links to a place in the same page. */
  readonly ownLinks: number
  /** Headings of the first level. */
  readonly titles: number
}

const NOTHING: TextWeight = { chars: 0, linkedChars: 0, links: 0, ownLinks: 0, titles: 0 }

/** Of every element within the root, counted once. */
export class TextWeights {
  readonly #weights = new Map<Element, TextWeight>()

  constructor(root: Element) {
    this.#count(root, false)
  }

  of(element: Element): TextWeight {
    return this.#weights.get(element) ?? NOTHING
  }

  /** The part of the text that is in links, from 0 to 1. */
  linkShare(element: Element): number {
    const { chars, linkedChars } = this.of(element)
    return chars === 0 ? 0 : linkedChars / chars
  }

  freeChars(element: Element): number {
    const { chars, linkedChars } = this.of(element)
    return chars - linkedChars
  }

  #count(element: Element, isLinked: boolean): TextWeight {
    const href = element.nodeName === 'A' ? element.getAttribute('href') : null
    const isLink = isLinked || href !== null
    let chars = 0
    let linkedChars = 0
    let links = href === null ? 0 : 1
    let ownLinks = href?.startsWith('#') ? 1 : 0
    let titles = element.nodeName === 'H1' ? 1 : 0
    for (let child = element.firstChild; child !== null; child = child.nextSibling) {
      if (isElement(child)) {
        const inner = this.#count(child, isLink)
        chars += inner.chars
        linkedChars += inner.linkedChars
        links += inner.links
        ownLinks += inner.ownLinks
        titles += inner.titles
      } else if (child.nodeType === 3) {
        const length = (child.nodeValue ?? '').replace(/\s+/g, '').length
        chars += length
        if (isLink) linkedChars += length
      }
    }
    const weight = { chars, linkedChars, links, ownLinks, titles }
    this.#weights.set(element, weight)
    return weight
  }
}
