/** Exports a knowledge base with its vectors to a file, and imports it again. */

import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { IMPORT_RESULT } from '../../api/http/answers/records/knowledge-base-schemas.ts'
import type { Wire } from '../../api/http/request/schema-words.ts'
import { counted } from '../../core/short-text.ts'
import { DEFAULT_PROJECT_NAME, namedObject, pathOf, type RunCommand } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { sizeText } from '../output.ts'
import { copyBytes, refuseBinaryTerminal, withTarget } from '../sql/row-files.ts'
import { show } from './record-output.ts'

export const exportKnowledgeBase: RunCommand = async (context) => {
  const { words, options, client, output, signal } = context
  const named = namedObject(words[0] ?? '', options)
  const file = options.text('output') ?? (output.isTerminal ? `${named.name}.parquet` : undefined)
  refuseBinaryTerminal(file, output, 'An export')
  const response = await client.open('GET', `${pathOf('knowledge_bases', named)}/export`, {
    signal,
  })
  let sizeBytes = 0
  await withTarget(file, output, (write) => {
    const counted = (bytes: Uint8Array) => {
      sizeBytes += bytes.length
      return write(bytes)
    }
    return copyBytes(response, client.address, counted, signal)
  })
  const isFile = file !== undefined && file !== '-'
  const { project, name } = named
  const done = `Exported ${project}.${name}: ${sizeText(sizeBytes)}${isFile ? ` in ${file}` : ''}`
  // Without `--output`, standard output is the file itself.
  if (!isFile) output.say(done)
  else
    await show(output, { knowledge_base: name, project, file, size_bytes: sizeBytes }, () => done)
  return undefined
}

export const importKnowledgeBase: RunCommand = async ({
  words,
  options,
  client,
  output,
  signal,
}) => {
  const [file = ''] = words
  const found = await stat(file).catch(() => null)
  if (found?.isFile() !== true) {
    throw new CommandError('no_such_file', `${file}: there is no such file`)
  }
  const as = options.text('as')
  const project = options.text('project') ?? DEFAULT_PROJECT_NAME
  const own = { project, name: basename(file).replace(/\.parquet$/i, '') }
  const named = as === undefined ? own : namedObject(as, options)
  output.say(`Sending ${sizeText(found.size)} …`)
  const headers = { 'content-type': 'application/vnd.apache.parquet' }
  const init = { body: Bun.file(file).stream(), headers, signal }
  const path = `${pathOf('knowledge_bases', named)}/import`
  const report = await client.send<Wire<typeof IMPORT_RESULT>>('POST', path, init)
  return show(output, report, () => {
    const { created, documents, chunks } = report
    const done = `${created ? 'Created' : 'Filled'} ${named.project}.${named.name}`
    return `${done}: ${counted(documents, 'document')}, ${counted(chunks, 'chunk')}`
  })
}
