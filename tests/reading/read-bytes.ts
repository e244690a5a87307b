import type { ReadDocument } from '../../src/core/domain/ports/reading-ports.ts'
import type { Recognized } from '../../src/core/domain/uploaded-file.ts'
import { isDocumentFormat } from '../../src/core/domain/uploaded-file.ts'
import { fileFormat } from '../../src/reading/file-format.ts'
import { readDocuments } from '../../src/reading/processes/read-file.ts'

/** Returns the documents of a file, the first of them, and the warnings. */
export async function read(content: Uint8Array | string, name = 'file') {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  const format = fileFormat(name, bytes)
  if (!isDocumentFormat(format)) throw new Error(`${format} holds rows`)
  const warnings: string[] = []
  const recognized: Recognized[] = []
  const notes = {
    recognize: (found: Recognized) => void recognized.push(found),
    warn: (sentence: string) => void warnings.push(sentence),
  }
  const documents: ReadDocument[] = []
  for await (const one of readDocuments({ bytes, format, name, charset: null, url: null }, notes)) {
    documents.push(one)
  }
  const [document] = documents
  if (document === undefined) throw new Error('no document')
  return { ...document, format, documents, warnings, recognized: Object.assign({}, ...recognized) }
}
