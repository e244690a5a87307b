import { describe, expect, test } from 'bun:test'
import {
  containsAnswer,
  isExactAnswer,
  normalizedAnswer,
  saysNotFound,
} from '../../src/query/evaluate/judge-answer.ts'

test.each([
  ['The  Eiffel-Tower!', 'eiffeltower'],
  ['an apple a day', 'apple day'],
  ['$5', '5'],
  ['¿Qué?', 'qué'],
])('%p is %p', (text, normalized) => {
  expect(normalizedAnswer(text)).toBe(normalized)
})

test.each([
  ['the Broncos.', ['Denver Broncos', 'Broncos'], true],
  ['Denver', ['Broncos'], false],
  ['The', ['the'], false],
  ['?', ['?'], true],
  ['!', ['?'], false],
])('%p is exactly one of %p: %p', (answer, accepted, right) => {
  expect(isExactAnswer(answer, accepted)).toBe(right)
})

test.each([
  ['It took from 1989–1990.', ['1989'], true],
  ['In the US of A', ['U.S.'], true],
  ['in the u.s. army', ['US'], true],
  ['There were 1240 of them', ['24'], false],
  ['Paris is the capital', ['paris'], true],
  ['capital', ['capitals'], false],
  ['東京は日本の首都です', ['日本の首都'], true],
  ['nothing', [], false],
  ['what?', ['?'], true],
  ['anything', [' '], false],
])('%p holds one of %p: %p', (answer, accepted, right) => {
  expect(containsAnswer(answer, accepted)).toBe(right)
})

describe('an answer says that nothing was found', () => {
  test.each([
    'I found nothing relevant to this question in mindsdb.docs.',
    'I couldn’t find any information about that.',
    'The documents do not mention the price.',
    'There is no information on this in the knowledge base.',
    "Sorry, I don't know.",
    'Dazu habe ich in den Unterlagen nichts gefunden.',
    'Die Dokumente enthalten keine Angaben dazu.',
    "Je n'ai pas trouvé de réponse.",
    'No se encontró información.',
    'Non ho trovato informazioni.',
    'Não encontrei essa informação.',
    'Ik heb geen informatie gevonden.',
    'Информация не найдена.',
    '文档中没有提到这一点。',
    '情報が見つかりませんでした。',
    '관련 정보를 찾을 수 없습니다.',
    '',
  ])('%p', (answer) => {
    expect(saysNotFound(answer)).toBe(true)
  })

  test.each([
    'It is 42.',
    'Rooibos has no caffeine.',
    'The tower is not open on Mondays.',
    'Nobody knows more than Ann.',
    'Das Hotel hat kein Schwimmbad.',
    'El hotel no tiene piscina.',
    `${'It is 42. '.repeat(50)}I could not find more.`,
  ])('not %p', (answer) => {
    expect(saysNotFound(answer)).toBe(false)
  })
})
