/**
 * Reads files as the server does and prints the result: `bun scripts/read-file.ts <file> …`. For
 * measurements and for proofreading.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { isDocumentFormat } from '../src/core/domain/uploaded-file.ts'
import { fileFormat } from '../src/reading/file-format.ts'
import { readDocuments } from '../src/reading/processes/read-file.ts'

for (const path of process.argv.slice(2)) {
  const bytes = readFileSync(path)
  const name = basename(path)
  try {
    const format = fileFormat(name, bytes)
    console.log(`=== ${path}: ${format}`)
    if (!isDocumentFormat(format)) continue
    const notes = {
      recognize: (found: object) => console.log(`recognized ${JSON.stringify(found)}`),
      warn: (sentence: string) => console.log(`warning: ${sentence}`),
    }
    for await (const read of readDocuments(
      { bytes, format, name, charset: null, url: null },
      notes,
    )) {
      const { content, links, ...facts } = read
      console.log(JSON.stringify({ ...facts, links: links.length }))
      console.log(content)
    }
  } catch (error) {
    console.log(`=== ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
