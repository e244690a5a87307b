import type { RawDocument, ReadDocument } from '../../core/domain/ports/reading-ports.ts'
import { type ReadingNotes, wholeDocument } from '../document-format.ts'
import { languageOfName, languageOfShebang } from '../programming-languages.ts'
import { decodeText } from '../text-encoding.ts'

/** Source code as it is. */
export function* readCode(
  { bytes, charset, name = '' }: RawDocument,
  notes: ReadingNotes,
): Generator<ReadDocument> {
  const content = decodeText(bytes, charset)
  const language = languageOfName(name) ?? languageOfShebang(content)
  if (language !== null) notes.recognize({ language })
  yield wholeDocument({
    content,
    title: name === '' ? null : name,
    syntax: 'code',
    columns: language === null ? {} : { language },
  })
}
