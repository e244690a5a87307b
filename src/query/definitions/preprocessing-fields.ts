/** Reads the field `preprocessing`. Each type accepts only its own options. */

import {
  type ContextualChunking,
  DEFAULT_CHUNK_OVERLAP_CHARS,
  DEFAULT_CHUNK_SIZE_CHARS,
  DEFAULT_JSON_CHUNKING,
  type JsonChunking,
  type Preprocessing,
  type SentenceWindows,
} from '../../core/domain/knowledge-base.ts'
import { chatOptionsOf } from '../../core/domain/model-ref.ts'
import {
  FieldReader,
  type Fields,
  INVALID_KNOWLEDGE_BASE,
  invalidKnowledgeBase,
  maskedModelFields,
  modelRefOf,
  refuseOptions,
} from './fields.ts'

const CHUNK_SIZE_CHARS_MAX = 100_000
const SENTENCES_MAX = 100
const SEPARATORS_MAX = 20

type PreprocessingType = Preprocessing['type']

const SIZES = ['chunk_size', 'chunk_overlap'] as const

const PREPROCESSING_OPTIONS: Readonly<Record<PreprocessingType, readonly string[]>> = {
  auto: SIZES,
  text_chunking: [...SIZES, 'separators'],
  markdown_chunking: SIZES,
  code_chunking: ['chunk_size'],
  sentence_chunking: ['window_size', 'window_overlap', 'chunk_size'],
  json_chunking: [
    'flatten_nested',
    'include_metadata',
    'chunk_by_object',
    'exclude_fields',
    'include_fields',
    'metadata_fields',
    'extract_all_primitives',
    'nested_delimiter',
    'content_column',
  ],
  contextual: [...SIZES, 'llm_config', 'context_template', 'summarize', 'max_chunks'],
}

const configOf = (type: PreprocessingType) => `${type}_config`

function isType(name: string): name is PreprocessingType {
  return Object.hasOwn(PREPROCESSING_OPTIONS, name)
}

const TYPES = Object.keys(PREPROCESSING_OPTIONS).filter(isType)

/** Infers the type from the options if it is missing. */
function preprocessingType(read: FieldReader, fields: Fields): PreprocessingType {
  const name = read.text('type')
  if (name === undefined) return TYPES.find((type) => fields[configOf(type)] != null) ?? 'auto'
  if (isType(name)) return name
  const known = TYPES.join(', ')
  throw invalidKnowledgeBase(`Unknown preprocessing type "${name}". Available types: ${known}`)
}

/** `{type, <type>_config}`. @param stored its masked model key is kept @throws AppError */
export function preprocessingOf(
  fields: Fields | undefined,
  stored: Preprocessing | null = null,
): Preprocessing {
  const read = new FieldReader(fields ?? {}, INVALID_KNOWLEDGE_BASE)
  const type = preprocessingType(read, fields ?? {})
  const configName = configOf(type)
  read.allowOnly(new Set(['type', configName]), (name) => {
    const isOther = TYPES.some((other) => configOf(other) === name)
    if (isOther) return `Unknown field "${name}" in "preprocessing": the type is ${type}`
    const isOption = PREPROCESSING_OPTIONS[type].includes(name)
    const next = isOption ? `it belongs in "${configName}"` : `expected "type" and "${configName}"`
    return `Unknown field "${name}" in "preprocessing"; ${next}`
  })
  const sent = read.object(configName) ?? {}
  const config = new FieldReader(sent, INVALID_KNOWLEDGE_BASE)
  config.allowOnly(new Set(PREPROCESSING_OPTIONS[type]), (name) => {
    return `Unknown field "${name}" in "${configName}". Available: ${PREPROCESSING_OPTIONS[type].join(', ')}`
  })
  const separators = separatorsOf(config)
  const contextual = type === 'contextual' ? contextualOf(config, stored) : undefined
  return {
    type,
    ...sizesOf(config),
    ...(separators === undefined ? {} : { separators }),
    ...(type === 'json_chunking' ? { json: jsonOf(config) } : {}),
    ...(type === 'sentence_chunking' ? { sentences: sentencesOf(config) } : {}),
    ...(contextual === undefined ? {} : { contextual }),
    sent: fields === undefined ? null : shownFields(fields, contextual),
  }
}

function sizesOf(
  config: FieldReader,
): Pick<Preprocessing, 'chunkSizeChars' | 'chunkOverlapChars' | 'isSizeChosen'> {
  const size = config.integer('chunk_size', { min: 1, max: CHUNK_SIZE_CHARS_MAX })
  const chunkSizeChars = size ?? DEFAULT_CHUNK_SIZE_CHARS
  const overlap = config.integer('chunk_overlap', { min: 0, max: CHUNK_SIZE_CHARS_MAX })
  if (overlap !== undefined && overlap >= chunkSizeChars) {
    const sizes = `chunk_overlap is ${overlap}, chunk_size ${chunkSizeChars}`
    throw invalidKnowledgeBase(`"chunk_overlap" must be less than "chunk_size": ${sizes}`)
  }
  const least = Math.min(DEFAULT_CHUNK_OVERLAP_CHARS, Math.floor(chunkSizeChars / 5))
  return {
    chunkSizeChars,
    chunkOverlapChars: overlap ?? least,
    isSizeChosen: size !== undefined,
  }
}

function separatorsOf(config: FieldReader): readonly string[] | undefined {
  const separators = config.textList('separators')
  if (separators === undefined) return undefined
  const usual = ['\n\n', '\n', ' ', '']
  if (separators.length === 0 || separators.length > SEPARATORS_MAX) {
    throw invalidKnowledgeBase(`"separators" must hold from 1 to ${SEPARATORS_MAX} texts`)
  }
  // Whether the options only repeat the default.
  const isUsual =
    separators.length === usual.length && separators.every((one, i) => one === usual[i])
  return isUsual ? undefined : separators
}

function jsonOf(config: FieldReader): JsonChunking {
  const usual = DEFAULT_JSON_CHUNKING
  return {
    flattenNested: config.truth('flatten_nested') ?? usual.flattenNested,
    includeMetadata: config.truth('include_metadata') ?? usual.includeMetadata,
    chunkByObject: config.truth('chunk_by_object') ?? usual.chunkByObject,
    excludeFields: config.textList('exclude_fields') ?? usual.excludeFields,
    includeFields: config.textList('include_fields') ?? usual.includeFields,
    metadataFields: config.textList('metadata_fields') ?? usual.metadataFields,
    extractAllPrimitives: config.truth('extract_all_primitives') ?? usual.extractAllPrimitives,
    nestedDelimiter: config.text('nested_delimiter') || usual.nestedDelimiter,
    contentColumn: config.text('content_column') || null,
  }
}

function sentencesOf(config: FieldReader): SentenceWindows {
  const windowSize = config.integer('window_size', { min: 1, max: SENTENCES_MAX }) ?? 5
  const windowOverlap = config.integer('window_overlap', { min: 0, max: SENTENCES_MAX })
  if (windowOverlap !== undefined && windowOverlap >= windowSize) {
    const sizes = `window_overlap is ${windowOverlap}, window_size ${windowSize}`
    throw invalidKnowledgeBase(`"window_overlap" must be less than "window_size": ${sizes}`)
  }
  return { windowSize, windowOverlap: windowOverlap ?? Math.min(1, windowSize - 1) }
}

const CONTEXT_CHUNKS_DEFAULT = 1000
const CONTEXT_CHUNKS_MAX = 1_000_000

function contextualOf(config: FieldReader, stored: Preprocessing | null): ContextualChunking {
  const sent = config.object('llm_config')
  const before = stored?.contextual?.model ?? null
  if (config.truth('summarize') === true) {
    const why = 'what is embedded is always the context with its chunk, so that every word is found'
    throw invalidKnowledgeBase(`"summarize" can only be false: ${why}`)
  }
  const usual = { provider: before?.provider ?? 'openai', code: INVALID_KNOWLEDGE_BASE } as const
  const bounds = { min: 1, max: CONTEXT_CHUNKS_MAX }
  const model = sent === undefined ? null : modelRefOf(sent, usual, before)
  if (sent !== undefined && model !== null)
    refuseOptions(sent, chatOptionsOf(model.provider), INVALID_KNOWLEDGE_BASE)
  return {
    model,
    template: config.text('context_template') ?? null,
    chunksMax: config.integer('max_chunks', bounds) ?? CONTEXT_CHUNKS_DEFAULT,
  }
}

/** As `params` shows them, with the limit of model calls per insert and without secrets. */
function shownFields(fields: Fields, contextual: ContextualChunking | undefined): Fields {
  if (contextual === undefined) return fields
  const { model, chunksMax } = contextual
  const config = new FieldReader(fields, INVALID_KNOWLEDGE_BASE).object('contextual_config') ?? {}
  const shown = model === null ? {} : { llm_config: maskedModelFields(model) }
  return { ...fields, contextual_config: { ...config, max_chunks: chunksMax, ...shown } }
}
