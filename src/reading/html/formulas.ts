import { all, isElement, oneLine, replaceWithText } from './elements.ts'

/** Formulas as TeX where the page holds it, else as one line of text. Before scripts and hidden parts are taken out. */
export function writeFormulas(root: Element): void {
  for (const script of all(root, 'script[type^="math/tex"]')) {
    const isDisplay = (script.getAttribute('type') ?? '').includes('display')
    replaceWithText(script, texOf(script.textContent ?? '', isDisplay))
  }
  for (const drawn of all(root, '.MathJax, .MathJax_Preview, .MathJax_Display, .katex-html'))
    drawn.remove()
  for (const math of all(root, 'math')) {
    const tex = math.querySelector('annotation[encoding="application/x-tex"]')?.textContent
    const text = tex ?? math.getAttribute('alttext')
    const isDisplay = math.getAttribute('display') === 'block'
    replaceWithText(
      math,
      text === null || text === undefined ? lineOf(math) : texOf(text, isDisplay),
    )
  }
  for (const image of all(root, 'img.math, img.latex, img.tex, img[class*="mwe-math"]')) {
    const tex = image.getAttribute('alt') ?? ''
    if (tex.trim() !== '') replaceWithText(image, texOf(tex, false))
  }
  for (const element of all(root, 'span.math, div.math')) writeDelimited(element)
}

/** Sphinx and pandoc leave `\(…\)` for a script to draw. */
function writeDelimited(element: Element): void {
  const found = /^\s*\\([([])([\s\S]*)\\[)\]]\s*$/.exec(element.textContent ?? '')
  if (found !== null) element.textContent = texOf(found[2] ?? '', found[1] === '[')
}

function texOf(tex: string, isDisplay: boolean): string {
  const line = oneLine(tex).replace(/^\{\\(?:displaystyle|textstyle)\s+([\s\S]*)\}$/, '$1')
  return isDisplay ? `$$${line}$$` : `$${line}$`
}

/** MathML without TeX: fractions and scripts in a row. */
function lineOf(math: Element): string {
  return oneLine(rowOf(math))
}

function rowOf(element: Element): string {
  const children = Array.from(element.childNodes).filter(
    (node) => isElement(node) || node.nodeType === 3,
  )
  const parts = children.map((node) => (isElement(node) ? partOf(node) : (node.nodeValue ?? '')))
  return parts.join('')
}

function partOf(element: Element): string {
  const [first = '', second = '', third = ''] = Array.from(element.children).map(partOf)
  switch (element.nodeName.toLowerCase()) {
    case 'annotation':
    case 'annotation-xml':
      return ''
    case 'mfrac':
      return `${grouped(first)}/${grouped(second)}`
    case 'msup':
      return `${first}^${grouped(second)}`
    case 'msub':
      return `${first}_${grouped(second)}`
    case 'msubsup':
      return `${first}_${grouped(second)}^${grouped(third)}`
    case 'msqrt':
      return `sqrt(${rowOf(element)})`
    case 'mo':
      return operator(element.textContent ?? '')
    default:
      return rowOf(element)
  }
}

function operator(text: string): string {
  const sign = text.trim()
  return /^[=<>+−≤≥≠≈→∈-]$/.test(sign) ? ` ${sign} ` : sign
}

function grouped(text: string): string {
  const bare = text.trim()
  return /^[\p{L}\p{N}.]*$/u.test(bare) ? bare : `(${bare})`
}
