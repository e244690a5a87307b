import type { Row } from '../../../core/domain/document.ts'
import { oneLine } from '../../../core/short-text.ts'
import type { ReadingNotes } from '../../document-format.ts'
import { imageType } from '../../file-format.ts'
import { READING_LIMITS } from '../../reading-limits.ts'
import { attribute, child, descendants, parseXml, textOf, type XmlElement } from '../../xml-tree.ts'
import { zipEntries } from '../../zip-file.ts'

/** An Office file (OOXML): XML parts that refer to each other by relationships. */
export class OfficePackage {
  readonly #bytes: Uint8Array
  readonly #parts: ReadonlyMap<string, Uint8Array>

  /** @throws AppError `file_unreadable` */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#parts = zipEntries(bytes, (name) => /\.(xml|rels)$/i.test(name))
  }

  has(path: string): boolean {
    return this.#parts.has(path)
  }

  part(path: string | undefined): XmlElement | undefined {
    const bytes = path === undefined ? undefined : this.#parts.get(path)
    return bytes === undefined ? undefined : parseXml(bytes)
  }

  relationships(path: string): ReadonlyMap<string, Relationship> {
    const slash = path.lastIndexOf('/') + 1
    const folder = path.slice(0, slash)
    const root = this.part(`${folder}_rels/${path.slice(slash)}.rels`)
    const found = child(root, 'Relationships')?.children ?? []
    return new Map(
      found.flatMap((one) => {
        if (typeof one === 'string' || one.attributes.TargetMode === 'External') return []
        const { Id = '', Type = '', Target = '' } = one.attributes
        return [[Id, { type: Type.split('/').at(-1) ?? '', path: resolvedPath(folder, Target) }]]
      }),
    )
  }

  /** Returns the main part, which programs may place anywhere. */
  mainPart(usual: string): string {
    const main = [...this.relationships('').values()].find((one) => one.type === 'officeDocument')
    return main !== undefined && this.has(main.path) ? main.path : usual
  }

  /** @param related the relationships of its part */
  scans(
    element: XmlElement,
    related: ReadonlyMap<string, Relationship>,
    { notes, place }: { readonly notes: ReadingNotes; readonly place: string },
  ): readonly string[] {
    if (notes.scan === undefined) return []
    return [...descendants(element, 'blip', 'imagedata')].flatMap((blip) => {
      const id = attribute(blip, 'embed') ?? blip.attributes['r:id'] ?? ''
      const path = related.get(id)?.path ?? ''
      const image = zipEntries(this.#bytes, (name) => name === path).get(path)
      const mediaType = image === undefined ? null : imageType(image)
      const isSmall = (image?.length ?? 0) < READING_LIMITS.pictureBytesMin
      if (image === undefined || mediaType === null || isSmall) return []
      return notes.scan?.(mediaType, place, () => image) ?? []
    })
  }

  properties(): { readonly title: string | null; readonly columns: Row } {
    return documentProperties(child(this.part('docProps/core.xml'), 'coreProperties'))
  }
}

export interface Relationship {
  /** The last word of its type, for example `slide`, `styles` or `notesSlide`. */
  readonly type: string
  readonly path: string
}

/** Resolves `../media/a.png` from `ppt/slides/` to `ppt/media/a.png`. Never leaves the package. */
export function resolvedPath(folder: string, target: string): string {
  const parts: string[] = target.startsWith('/') ? [] : folder.split('/').filter(Boolean)
  for (const part of target.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.' && part !== '') parts.push(part)
  }
  return parts.join('/')
}

/** Titles that programs insert by default. */
const NO_TITLE =
  /^(untitled|title|document\d*|powerpoint[- ]pr\S+|pr\S+sentation\d*|microsoft (word|powerpoint) -.*|slide \d+|word document|.*\.(docx?|pptx?|od[tp]|dotx?|rtf))$/i

const COLUMNS: readonly (readonly [column: string, names: readonly string[]])[] = [
  ['author', ['creator', 'initial-creator', 'lastModifiedBy']],
  ['date', ['modified', 'date', 'created', 'creation-date']],
  ['language', ['language']],
  ['subject', ['subject']],
  ['keywords', ['keywords', 'keyword']],
]

/** Reads title and columns from the Dublin Core metadata of Office, ODF and EPUB files. */
export function documentProperties(meta: XmlElement | undefined): {
  readonly title: string | null
  readonly columns: Row
} {
  const propertyOf = (name: string) => oneLine(textOf(child(meta, name))).slice(0, 1000)
  const title = propertyOf('title')
  const columns: Record<string, string> = {}
  for (const [column, names] of COLUMNS) {
    const value = names.map(propertyOf).find((one) => one !== '')
    if (value !== undefined) columns[column] = value
  }
  return { title: title === '' || NO_TITLE.test(title) ? null : title, columns }
}
