import { attribute, child, elementsOf, textOf, type XmlElement } from '../../xml-tree.ts'

/** An equation of Office (OMML) as a line: `x = (-b ± √(b^2 - 4ac))/2a`. */
export function equationText(element: XmlElement): string {
  return inner(element).replace(/\s+/g, ' ').trim()
}

function inner(element: XmlElement | undefined): string {
  return elementsOf(element).map(written).join('')
}

function written(element: XmlElement): string {
  return (WRITERS[element.name] ?? inner)(element)
}

const part = (element: XmlElement, name: string): string => inner(child(element, name))

/** Brackets around what is more than one word. */
function grouped(text: string): string {
  return /^([\p{L}\p{N}.]+|\(.*\))?$/u.test(text.trim()) ? text.trim() : `(${text.trim()})`
}

function property(element: XmlElement, list: string, name: string): string | undefined {
  return attribute(child(element, list, name), 'val')
}

const WRITERS: Readonly<Record<string, (element: XmlElement) => string>> = {
  t: textOf,
  rPr: () => '',
  ctrlPr: () => '',
  f: (one) => `${grouped(part(one, 'num'))}/${grouped(part(one, 'den'))}`,
  sSup: (one) => `${part(one, 'e')}^${grouped(part(one, 'sup'))}`,
  sSub: (one) => `${part(one, 'e')}_${grouped(part(one, 'sub'))}`,
  sSubSup: (one) => `${part(one, 'e')}_${grouped(part(one, 'sub'))}^${grouped(part(one, 'sup'))}`,
  sPre: (one) => `_${grouped(part(one, 'sub'))}^${grouped(part(one, 'sup'))}${part(one, 'e')}`,
  rad: (one) =>
    `${part(one, 'deg') === '' ? '√' : `root ${part(one, 'deg')} of `}${grouped(part(one, 'e'))}`,
  nary: (one) => {
    const [low, high] = [part(one, 'sub'), part(one, 'sup')]
    const bounds = `${low === '' ? '' : `_${grouped(low)}`}${high === '' ? '' : `^${grouped(high)}`}`
    return `${property(one, 'naryPr', 'chr') ?? '∫'}${bounds} ${part(one, 'e')}`
  },
  limLow: (one) => `${part(one, 'e')}_${grouped(part(one, 'lim'))} `,
  limUpp: (one) => `${part(one, 'e')}^${grouped(part(one, 'lim'))} `,
  func: (one) => `${part(one, 'fName')} ${part(one, 'e')}`,
  d: (one) => {
    const terms = elementsOf(one).filter((term) => term.name === 'e')
    const [open, close] = [property(one, 'dPr', 'begChr'), property(one, 'dPr', 'endChr')]
    const separator = property(one, 'dPr', 'sepChr') ?? '|'
    return `${open ?? '('}${terms.map(inner).join(separator)}${close ?? ')'}`
  },
  m: (one) => {
    const rows = elementsOf(one).filter((row) => row.name === 'mr')
    return `[${rows.map((row) => elementsOf(row).map(inner).join(', ')).join('; ')}]`
  },
  eqArr: (one) => elementsOf(one).map(inner).filter(Boolean).join('; '),
}
