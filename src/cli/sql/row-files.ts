/** Writes rows for programs, to stdout or to a file that appears only when it is complete. */

import { randomUUID } from 'node:crypto'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorText } from '../../core/errors.ts'
import { CommandError, usageError } from '../command-error.ts'
import { connectionLost } from '../http-client.ts'
import type { Output } from '../output.ts'

export type Write = (bytes: Uint8Array) => Promise<void>

/** Lets `use` write to the file or stdout. If it throws, no file is left behind. */
export async function withTarget(
  file: string | undefined,
  output: Output,
  use: (write: Write) => Promise<void>,
): Promise<void> {
  if (file === undefined || file === '-') return use((bytes) => output.write(bytes))
  // A pipe or a device is written directly.
  const isPlain = await stat(file).then(
    (found) => found.isFile(),
    () => true,
  )
  const written = isPlain ? join(dirname(file), `.eider-${randomUUID()}.part`) : file
  const handle = await open(written, isPlain ? 'wx' : 'w').catch((cause: Error) => {
    throw fileFailed(file, cause)
  })
  try {
    await use((bytes) => writeWhole(handle, bytes, file))
    await handle.close()
    if (isPlain) await rename(written, file)
  } catch (error) {
    await handle.close().catch(() => {})
    if (isPlain) await rm(written, { force: true })
    throw error
  }
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array, file: string): Promise<void> {
  try {
    for (let start = 0; start < bytes.length; ) {
      start += (await handle.write(bytes, start)).bytesWritten
    }
  } catch (cause) {
    throw fileFailed(file, cause)
  }
}

function fileFailed(file: string, cause: unknown): CommandError {
  const why = errorText(cause)
  return new CommandError('file_failed', `${file} cannot be written: ${why}`, { cause })
}

/** @throws CommandError `usage`, because a terminal cannot show binary data */
export function refuseBinaryTerminal(file: string | undefined, output: Output, what: string): void {
  if (file === undefined && output.isTerminal) {
    throw usageError(`${what} is binary: write it to a file with -o, or to a pipe`)
  }
}

/** Copies the body of an answer. @throws CommandError `connection_lost` */
export async function copyBytes(
  response: Response,
  address: string,
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  for await (const bytes of checkedBytes(response, address, signal)) await write(bytes)
}

/** Converts one JSON object per line to a JSON array. */
export async function copyAsJsonList(
  response: Response,
  address: string,
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  const encoder = new TextEncoder()
  const between = encoder.encode(',\n')
  await write(encoder.encode('['))
  let isBetween = false
  for await (const bytes of checkedBytes(response, address, signal)) {
    // Replaces every line break but the last by a comma and a line break.
    let start = 0
    while (start < bytes.length) {
      if (isBetween) await write(between)
      const end = bytes.indexOf(10, start)
      isBetween = end !== -1
      const stop = end === -1 ? bytes.length : end
      await write(bytes.subarray(start, stop))
      start = stop + 1
    }
  }
  await write(encoder.encode(']\n'))
}

async function* checkedBytes(
  response: Response,
  address: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of response.body ?? []) yield bytes
  } catch (error) {
    signal.throwIfAborted()
    throw connectionLost(address, error)
  }
}
