import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { LANGUAGES, type Language, languageNamed } from '../domain/language.ts'
import { AppError } from '../errors.ts'
import type { FieldReader } from './fields.ts'

const CODE = 'invalid_knowledge_base'

/** `language`: that of the texts, by which the keyword search reduces words to stems. Nothing where it was not sent. */
export function languageParam(read: FieldReader): { readonly language?: Language } {
  const name = read.text('language')
  if (name === undefined) return {}
  const language = languageNamed(name)
  if (language !== undefined) return { language }
  const known = LANGUAGES.join(', ')
  throw new AppError(CODE, `Unknown language "${name}". Available languages: ${known}`)
}

/** @throws AppError `invalid_knowledge_base` for another language than that of the keyword index */
export function checkLanguageStays(kb: KnowledgeBase, read: FieldReader): void {
  const { language = kb.language } = languageParam(read)
  if (language === kb.language) return
  const why = 'its keyword index is made for it; create a new knowledge base'
  throw new AppError(CODE, `The language of ${kb.name} stays ${kb.language}: ${why}`)
}
