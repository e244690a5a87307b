import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Bench,
  type Measure,
  PROJECT,
  residentMb,
  type Scenario,
  withFolder,
  withServer,
} from '../scenario.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const SAMPLE_MS = 50
/** The size of one file. */
const FILE_MB = 64
const MEGABYTES = { quick: 8, normal: 64, full: 1024 } as const

/** Splits text files into chunks with a model that takes no time, to measure the server's memory. */
export const largeText: Scenario = {
  name: 'large-text',
  title: 'Text files of up to a gigabyte into chunks',
  onlyWhenNamed: true,
  async run(size) {
    const stub = await startStubProvider()
    try {
      return await withFolder((folder) => {
        const environment = { EIDER_BODY_BYTES_MAX: String(2 * FILE_MB * 1024 * 1024) }
        return withServer(environment, (bench) => {
          const model = stubEmbeddingModel(stub)
          return chunked(bench, { folder, model, megabytes: MEGABYTES[size] })
        })
      })
    } finally {
      stub.stop()
    }
  },
}

async function chunked(
  { client, server }: Bench,
  {
    folder,
    model,
    megabytes,
  }: { readonly folder: string; readonly model: object; readonly megabytes: number },
): Promise<readonly Measure[]> {
  const idleMb = residentMb(server.pid)
  let peakMb = idleMb
  const sampler = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(server.pid))
  }, SAMPLE_MS)
  const startedAt = performance.now()
  const knowledgeBase = { name: 'large', embedding_model: model }
  await client.request('POST', `${PROJECT}/knowledge_bases`, { knowledge_base: knowledgeBase })
  for (let done = 0; done < megabytes; done += FILE_MB) {
    const name = `text_${done}`
    const path = join(folder, `${name}.txt`)
    await writeWords(path, Math.min(FILE_MB, megabytes - done), done)
    const answer = await fetch(`${server.baseUrl}/api/files/${name}.txt`, {
      method: 'PUT',
      headers: { 'content-type': 'text/plain' },
      body: Bun.file(path),
    })
    if (!answer.ok) throw new Error(await answer.text())
    await rm(path)
    const insert = { knowledge_base: { files: [`${name}.txt`] } }
    await client.request('PUT', `${PROJECT}/knowledge_bases/large`, insert)
  }
  clearInterval(sampler)
  const seconds = (performance.now() - startedAt) / 1000
  return [
    { what: 'text', value: megabytes, unit: 'MB' },
    { what: 'uploaded, chunked and stored', value: megabytes / seconds, unit: 'MB per second' },
    { what: 'memory above idle, peak', value: peakMb - idleMb, unit: 'MB' },
    { what: 'memory above idle, afterwards', value: residentMb(server.pid) - idleMb, unit: 'MB' },
  ]
}

/** Writes sentences of a few thousand different words. */
async function writeWords(path: string, megabytes: number, seed: number): Promise<void> {
  const writer = Bun.file(path).writer()
  let state = seed + 1
  for (let bytes = 0; bytes < megabytes * 1024 * 1024; ) {
    const words = Array.from({ length: 12 }, () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
      return `w${(state % 4999).toString(36)}`
    })
    const line = `The ${words.join(' ')}.\n`
    writer.write(line)
    bytes += line.length
  }
  await writer.end()
}
