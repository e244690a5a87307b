import { strToU8, zipSync } from 'fflate'

/** Returns a ZIP file with the given texts. */
export function tinyZip(parts: Readonly<Record<string, string>>): Uint8Array {
  return zipSync(
    Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])),
  )
}

export interface TinyDocx {
  /** The content of `w:body`. */
  readonly body: string
  /** The content of `w:styles`. */
  readonly styles?: string
  readonly numbering?: string
  readonly footnotes?: string
  readonly core?: string
}

const RELATED: readonly (readonly [keyof TinyDocx, string])[] = [
  ['styles', 'styles'],
  ['numbering', 'numbering'],
  ['footnotes', 'footnotes'],
]

export function tinyDocx(parts: TinyDocx): Uint8Array {
  const related = RELATED.filter(([name]) => parts[name] !== undefined)
  return tinyZip({
    '[Content_Types].xml': '<Types/>',
    'word/document.xml': `<?xml version="1.0"?><w:document><w:body>${parts.body}</w:body></w:document>`,
    'word/_rels/document.xml.rels': `<Relationships>${related
      .map(([name, root]) => `<Relationship Id="${name}" Type="x/${root}" Target="${name}.xml"/>`)
      .join('')}</Relationships>`,
    ...Object.fromEntries(
      related.map(([name, root]) => [`word/${name}.xml`, `<w:${root}>${parts[name]}</w:${root}>`]),
    ),
    ...(parts.core === undefined
      ? {}
      : { 'docProps/core.xml': `<cp:coreProperties>${parts.core}</cp:coreProperties>` }),
  })
}

/** Returns a paragraph of Word from a text and the content of its properties. */
export function paragraph(text: string, properties = ''): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`
}

/** Returns PowerPoint slides, each given by the content of its shape tree. */
export function tinyPptx(slides: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const numbers = slides.map((_, at) => at + 1)
  return tinyZip({
    '[Content_Types].xml': '<Types/>',
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${numbers
      .map((number) => `<p:sldId id="${255 + number}" r:id="rId${number}"/>`)
      .join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': `<Relationships>${numbers
      .map(
        (number) =>
          `<Relationship Id="rId${number}" Type="x/slide" Target="slides/slide${number}.xml"/>`,
      )
      .join('')}</Relationships>`,
    ...Object.fromEntries(
      slides.map((tree, at) => [
        `ppt/slides/slide${at + 1}.xml`,
        `<p:sld><p:cSld><p:spTree>${tree}</p:spTree></p:cSld></p:sld>`,
      ]),
    ),
    ...more,
  })
}

/** Returns a shape of PowerPoint. */
export function shape(paragraphs: readonly string[], placeholder = ''): string {
  const texts = paragraphs.map((text) => `<a:p><a:r><a:t>${text}</a:t></a:r></a:p>`).join('')
  const kind = placeholder === '' ? '' : `<p:ph type="${placeholder}"/>`
  return `<p:sp><p:nvSpPr><p:nvPr>${kind}</p:nvPr></p:nvSpPr><p:txBody>${texts}</p:txBody></p:sp>`
}
