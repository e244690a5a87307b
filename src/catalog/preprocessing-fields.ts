import {
  DEFAULT_CHUNK_OVERLAP_CHARS,
  DEFAULT_CHUNK_SIZE_CHARS,
  type Preprocessing,
} from '../domain/knowledge-base.ts'
import { AppError } from '../errors.ts'
import { FieldReader, type Fields } from './fields.ts'

const CODE = 'invalid_knowledge_base'
const CHUNK_SIZE_CHARS_MAX = 100_000

type PreprocessingType = Preprocessing['type']

const TYPES: Readonly<Record<PreprocessingType, string>> = {
  text_chunking: 'text_chunking_config',
  markdown_chunking: 'markdown_chunking_config',
  json_chunking: 'json_chunking_config',
}

function isType(name: string): name is PreprocessingType {
  return Object.hasOwn(TYPES, name)
}

function typeOf(read: FieldReader): PreprocessingType {
  const name = read.text('type') ?? 'text_chunking'
  if (isType(name)) return name
  const known = Object.keys(TYPES).join(', ')
  throw new AppError(CODE, `Unknown preprocessing type "${name}". Available types: ${known}`)
}

const CONFIG_FIELDS = new Set(['chunk_size', 'chunk_overlap', 'separators'])

/** `{type, <type>_config: {chunk_size, chunk_overlap}}` → how texts are cut. Nothing sent: the defaults. */
export function preprocessingOf(fields: Fields | undefined): Preprocessing {
  const read = new FieldReader(fields ?? {}, CODE)
  const type = typeOf(read)
  read.allowOnly(new Set(['type', ...Object.values(TYPES)]), (name) => {
    return `Unknown field "${name}" in "preprocessing"`
  })
  const config = new FieldReader(read.object(TYPES[type]) ?? {}, CODE)
  if (type !== 'json_chunking') {
    config.allowOnly(CONFIG_FIELDS, (name) => `Unknown field "${name}" in "${TYPES[type]}"`)
  }
  const size = config.integer('chunk_size', { min: 1, max: CHUNK_SIZE_CHARS_MAX })
  const chunkSizeChars = size ?? DEFAULT_CHUNK_SIZE_CHARS
  const overlap = config.integer('chunk_overlap', { min: 0, max: CHUNK_SIZE_CHARS_MAX })
  if (overlap !== undefined && overlap >= chunkSizeChars) {
    const sizes = `chunk_overlap is ${overlap}, chunk_size ${chunkSizeChars}`
    throw new AppError(CODE, `"chunk_overlap" must be less than "chunk_size": ${sizes}`)
  }
  return {
    type,
    chunkSizeChars,
    chunkOverlapChars:
      overlap ?? Math.min(DEFAULT_CHUNK_OVERLAP_CHARS, Math.floor(chunkSizeChars / 5)),
    sent: fields ?? null,
  }
}
