import { signsByCode, twinSigns } from '../../twin-signs.ts'
import { attribute, child, elementsOf, textOf, type XmlElement } from '../../xml-tree.ts'

const RAISED = twinSigns('0123456789+-=()ni', '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ')
const LOWERED = twinSigns('0123456789+-=()', '₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎')

/** Turns `m` and a superscript `2` into `m²` if every character has a superscript form. */
export function placedText(text: string, place: string | undefined): string {
  const twins = place === 'superscript' ? RAISED : place === 'subscript' ? LOWERED : null
  if (twins === null) return text
  const signs = Array.from(text, (sign) => twins.get(sign))
  return signs.includes(undefined) ? text : signs.join('')
}

/** Greek letters and symbols of the font Symbol, from 0x41 and from 0x61. */
const SYMBOL_CAPITALS = 'ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ'
const SYMBOL_SMALL = 'αβχδεφγηιϕκλμνοπθρστυϖωξψζ'
const SYMBOLS = signsByCode(
  'a3≤ a5∞ ab↔ ac← ae→ b0° b1± b3≥ b4× b7• b8÷ b9≠ bb≈ ce∈ d2® d3© d4™ d6√ de⇒ e5∑ f2∫',
)
const WINGDINGS = signsByCode(
  '4a☺ 6c● 6e■ 6f□ 71❑ 76❖ 9f• a7▪ a8☐ d8➢ df← e0→ e8➔ f0⇨ fb✗ fc✓ fd☒ fe☑',
)

/** Returns the character in a font with a private encoding; '' if unknown. */
export function symbolText(symbol: XmlElement): string {
  const font = attribute(symbol, 'font') ?? ''
  const code = Number.parseInt(attribute(symbol, 'char') ?? '', 16)
  if (!(code > 0 && code < 0x11_0000)) return ''
  const own = code >= 0xf000 && code <= 0xf0ff ? code - 0xf000 : code
  if (/^wingdings/i.test(font)) return WINGDINGS.get(own) ?? ''
  if (/^symbol$/i.test(font)) {
    return SYMBOLS.get(own) ?? SYMBOL_CAPITALS[own - 0x41] ?? SYMBOL_SMALL[own - 0x61] ?? ''
  }
  return own === code ? String.fromCodePoint(code) : ''
}

/** Whether Word hides it: index entries and hidden text. */
export function isHidden(run: XmlElement): boolean {
  const vanish = child(run, 'rPr', 'vanish')
  return vanish !== undefined && !/^(0|false|off)$/.test(attribute(vanish, 'val') ?? '')
}

/** Writes an Office equation (OMML) on one line: `x = (-b ± √(b^2 - 4ac))/2a`. */
export function equationText(element: XmlElement): string {
  return inner(element).replace(/\s+/g, ' ').trim()
}

function inner(element: XmlElement | undefined): string {
  return elementsOf(element).map(writtenRuns).join('')
}

function writtenRuns(element: XmlElement): string {
  return (WRITERS[element.name] ?? inner)(element)
}

const part = (element: XmlElement, name: string): string => inner(child(element, name))

/** Puts brackets around more than one word. */
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
