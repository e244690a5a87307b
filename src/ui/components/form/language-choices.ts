/** The languages whose words the keyword search knows, as choices of a field. */
import { LANGUAGES } from '../../../domain/language.ts'

export const LANGUAGE_CHOICES = LANGUAGES.map((language) => {
  return [
    language,
    language === 'none' ? 'None: words as they are' : languageName(language),
  ] as const
})

/** None is given: the server learns it from the documents. */
export const DETECTED_LANGUAGE = ['', 'Detected from the documents'] as const

export function languageName(language: string): string {
  return language.charAt(0).toUpperCase() + language.slice(1)
}
