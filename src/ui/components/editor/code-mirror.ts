/** Configures CodeMirror for this page. Loaded when the first editor is shown. */

import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import {
  keywordCompletionSource,
  PostgreSQL,
  SQLDialect,
  type SQLNamespace,
  schemaCompletionSource,
  sql,
} from '@codemirror/lang-sql'
import { bracketMatching, indentOnInput } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension, Prec } from '@codemirror/state'
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  MatchDecorator,
  placeholder,
  ViewPlugin,
  type ViewUpdate,
} from '@codemirror/view'
import type { NamedTable, SqlFunction } from '../../api/sql.ts'
import { EDITOR_THEME } from './editor-theme.ts'
import { endsInText, type Span, statementsOf } from './sql-code.ts'
import { optionsAt, STATEMENTS } from './sql-words.ts'

export interface SqlNames {
  readonly tables: readonly NamedTable[]
  readonly functions: readonly SqlFunction[]
}

/** An error and its position, as offsets in the text. */
export interface EditorMark extends Span {
  readonly message: string
}

interface EditorOptions {
  readonly label: string
  readonly placeholder: string
  readonly onChange: (text: string) => void
  /** Called with the selection, or with the cursor if both ends are equal. */
  readonly onRun: (place: Span) => void
  readonly onRunAll: () => void
  readonly names: () => SqlNames | undefined
}

export interface EditorHandle {
  /** Shows a text. Each key has its own undo history. */
  readonly show: (key: string, text: string) => void
  readonly mark: (marks: readonly EditorMark[]) => void
  readonly insert: (text: string) => void
  readonly selection: () => Span
  /** Moves the cursor to this offset. */
  readonly goTo: (at: number) => void
  readonly close: () => void
}

/** How many reported texts are remembered, because the owner may not have processed them yet. */
const TOLD_MAX = 200

export function openEditor(host: HTMLElement, options: EditorOptions): EditorHandle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true })
  const extensions = extensionsOf(options)
  const kept = new Map<string, EditorState>()
  let shown = { key: '', text: '' }
  /** Texts reported to the owner. During fast typing they may come back late. */
  let told: readonly string[] = []
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ extensions }),
    dispatchTransactions(transactions, target) {
      target.update(transactions)
      if (!transactions.some(({ docChanged }) => docChanged)) return
      const text = target.state.doc.toString()
      const isOurs = text === shown.text
      shown = { ...shown, text }
      if (isOurs) return
      told = [...told.slice(-TOLD_MAX), text]
      options.onChange(text)
    },
  })
  return {
    show(key, text) {
      if (key !== shown.key) {
        closeCompletion(view)
        kept.set(shown.key, view.state)
        told = []
        shown = { key, text }
        const before = kept.get(key)
        const isSame = before?.doc.toString() === text
        view.setState(
          isSame && before !== undefined ? before : EditorState.create({ doc: text, extensions }),
        )
        return
      }
      const isLate = told.includes(text)
      const isCaughtUp = text === view.state.doc.toString()
      if (isCaughtUp || !isLate) told = []
      if (isCaughtUp || isLate) return
      shown = { key, text }
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
    },
    mark(marks) {
      const { length } = view.state.doc
      const diagnostics = marks.map(({ from, to, message }) => ({
        from: Math.min(from, length),
        to: Math.min(Math.max(to, from), length),
        severity: 'error' as const,
        message,
      }))
      view.dispatch(setDiagnostics(view.state, diagnostics))
    },
    insert(text) {
      view.dispatch(view.state.replaceSelection(text), { scrollIntoView: true })
      view.focus()
    },
    selection: () => selectionOf(view.state),
    goTo(at) {
      const anchor = Math.min(at, view.state.doc.length)
      view.dispatch({ selection: { anchor }, scrollIntoView: true })
      view.focus()
    },
    close: () => view.destroy(),
  }
}

function selectionOf(state: EditorState): Span {
  const { from, to } = state.selection.main
  return { from, to }
}

function extensionsOf(options: EditorOptions): Extension {
  const run = (view: EditorView) => {
    // Closed because the list would cover the result.
    closeCompletion(view)
    options.onRun(selectionOf(view.state))
    return true
  }
  const runAll = (view: EditorView) => {
    closeCompletion(view)
    options.onRunAll()
    return true
  }
  return [
    Prec.highest(
      keymap.of([
        { key: 'Mod-Enter', run },
        { key: 'Mod-Shift-Enter', run: runAll },
      ]),
    ),
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    TYPED_OVER,
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    EditorState.tabSize.of(2),
    placeholder(options.placeholder),
    // After Escape, Tab leaves the editor.
    keymap.of([
      { key: 'Tab', run: acceptCompletion },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
    sqlExtensions(options.names),
    EDITOR_THEME,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label': options.label,
      'aria-description': 'Escape, then Tab leaves the editor',
      'aria-multiline': 'true',
      spellcheck: 'false',
    }),
  ]
}

/** Chromium would copy a replaced text's colour inline, which the policy refuses. */
const TYPED_OVER: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing, cancelable } = event
    if (inputType !== 'insertText' || data === null || isComposing || !cancelable) return false
    if (view.composing || view.state.selection.main.empty) return false
    const { from, to } = view.state.selection.main
    const insert = () => {
      const change = view.state.replaceSelection(data)
      return view.state.update(change, { userEvent: 'input.type', scrollIntoView: true })
    }
    // Calls other handlers first, such as the one that closes brackets.
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert())
    event.preventDefault()
    return true
  },
})

function sqlExtensions(names: () => SqlNames | undefined): Extension {
  const schemas = new WeakMap<SqlNames, ReturnType<typeof schemaCompletionSource>>()
  const ofSchema = (context: CompletionContext) => {
    const known = names()
    if (known === undefined) return null
    const source =
      schemas.get(known) ?? schemaCompletionSource({ dialect: DIALECT, ...schemaOf(known) })
    schemas.set(known, source)
    return source(context)
  }
  const ofStatements = (context: CompletionContext) => ownCompletions(context, names())
  const keywords = keywordCompletionSource(DIALECT, true)
  return [
    SQL_LANGUAGE,
    parameterMarks,
    autocompletion({
      override: [ofStatements, ofSchema, keywords],
      icons: false,
      maxRenderedOptions: 60,
    }),
  ]
}

function schemaOf({ tables }: SqlNames) {
  const schema: Record<string, Record<string, SQLNamespace>> = {}
  for (const { schema: name, name: table, kind, columns } of tables) {
    const own = schema[name] ?? {}
    schema[name] = own
    own[table] = {
      self: { label: table, type: 'table', detail: `${name}, ${kind.toLowerCase()}` },
      children: columns.map(({ name: label, type: detail }) => ({ label, detail, boost: 3 })),
    }
  }
  return { schema, defaultSchema: 'mindsdb' }
}

/** Completes the first words of statements, Eider's own options, and functions. */
function ownCompletions(
  { state, pos, explicit }: CompletionContext,
  names: SqlNames | undefined,
): CompletionResult | null {
  const text = state.doc.toString()
  const before = text.slice(0, pos)
  const typed = /[\p{L}\p{N}_$]*$/u.exec(before)?.[0] ?? ''
  const from = pos - typed.length
  if (endsInText(before) || before.charAt(from - 1) === '.') return null
  const all = statementsOf(text)
  const statement = all.find((span) => span.from <= pos && pos <= span.to + 1)
  const lead = statement === undefined ? '' : text.slice(statement.from, from)
  const begun = `${lead}${typed}`.trimStart().toUpperCase()
  if (begun === '' && !explicit) return null
  const phrases = STATEMENTS.filter((phrase) => phrase.startsWith(begun) && phrase !== begun)
  if (phrases.length > 0 || lead.trim() === '') {
    const options = phrases.map((label) => ({ label, type: 'keyword', boost: 5 }))
    return { from: statement?.from ?? from, options, validFor: /^[\w ]*$/ }
  }
  const code = text.slice(statement?.from ?? 0, statement?.to).toLowerCase()
  const named = names?.tables.filter(({ name }) => code.includes(name.toLowerCase())) ?? []
  const settings = optionsAt(lead, new Set(named.map(({ kind }) => kind)))
  const functions = typed.length > 1 ? (names?.functions ?? []) : []
  const options: readonly Completion[] = [
    ...settings.map(({ name, insert, info }) => {
      return { label: name, apply: insert, info, type: 'option', boost: 4 }
    }),
    ...functions.map(({ name, signatures, description }) => ({
      label: name,
      apply: `${name}(`,
      type: 'function',
      boost: -1,
      detail: signatures[0]?.slice(name.length) ?? '',
      info: [...signatures.slice(0, SIGNATURES_SHOWN), '', description ?? ''].join('\n').trim(),
    })),
  ]
  return options.length === 0 ? null : { from, options, validFor: /^[\p{L}\p{N}_$]*$/u }
}

const SIGNATURES_SHOWN = 6

/** Keywords of DuckDB and Eider that PostgreSQL does not have. */
const KEYWORDS = `
  agent agents alter asof attach chatbot database databases describe evaluate explain files from generate_data glob
  ilike index indexes jobs kill knowledge_base knowledge_bases macro models pivot positional processlist project
  projects qualify recursive replace rollup sample semi anti show source sources struct summarize tables unpivot
  use using vacuum views exclude rename`

const TYPES = `
  bigint hugeint integer int tinyint smallint ubigint uhugeint uinteger usmallint utinyint varchar text blob boolean
  bool date time timestamp timestamptz interval double float real decimal numeric uuid json map list struct union enum
  bit`

const DIALECT = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${PostgreSQL.spec.keywords ?? ''} ${KEYWORDS.trim()}`,
  types: `${PostgreSQL.spec.types ?? ''} ${TYPES.trim()}`,
  identifierQuotes: '"`',
  doubleDollarQuotedStrings: true,
  specialVar: '@$',
})

/** Not the type in `::name`, which the SQL language does not distinguish. */
const PARAMETER = Decoration.mark({ class: 'cm-parameter' })
const PARAMETERS = new MatchDecorator({ regexp: /(?<![:\w]):[a-z_]\w*/gi, decoration: PARAMETER })

const parameterMarks = ViewPlugin.define(
  (view) => ({
    marks: PARAMETERS.createDeco(view),
    update(update: ViewUpdate) {
      this.marks = PARAMETERS.updateDeco(update, this.marks)
    },
  }),
  { decorations: ({ marks }) => marks },
)

const SQL_LANGUAGE = sql({ dialect: DIALECT, upperCaseKeywords: true }).language
