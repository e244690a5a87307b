import type { ReadingNotes } from '../../document-format.ts'
import { type Block, markdownOfBlocks, titleOfBlocks } from './markdown-blocks.ts'

/** Slides as one text with the place where each begins; slides that hold no text are told to the sender. */
export function joinedSlides(
  slides: readonly (readonly Block[])[],
  notes: ReadingNotes,
): { readonly content: string; readonly starts: readonly number[]; readonly title: string | null } {
  const starts: number[] = []
  const texts: string[] = []
  let length = 0
  for (const blocks of slides) {
    const text = markdownOfBlocks(blocks)
    if (text !== '' && texts.length > 0) length += 2
    starts.push(length)
    if (text === '') continue
    texts.push(text)
    length += text.length
  }
  notes.recognize({ pages: slides.length })
  const empty = slides.length - texts.length
  if (empty > 0) notes.warn(`${empty} of ${slides.length} slides hold no text`)
  return { content: texts.join('\n\n'), starts, title: titleOfBlocks(slides.flat()) }
}
