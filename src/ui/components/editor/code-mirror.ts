/** CodeMirror as this page wants it. Loaded when the first editor is shown. */
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
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { PostgreSQL, SQLDialect, sql } from '@codemirror/lang-sql'
import { bracketMatching, indentOnInput } from '@codemirror/language'
import { linter, setDiagnostics } from '@codemirror/lint'
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
import { EDITOR_THEME } from './editor-theme.ts'
import type { CompleteSql } from './sql-completion.ts'

/** A place that is wrong: offsets into the text. */
export interface EditorMark {
  readonly from: number
  readonly to: number
  readonly message: string
}

/** What is to run: offsets of the selection; both the same: where the cursor is. */
export interface RunPlace {
  readonly from: number
  readonly to: number
}

interface EditorOptions {
  readonly language: 'sql' | 'json'
  readonly isReadOnly: boolean
  readonly label: string
  readonly placeholder: string
  readonly onChange: (text: string) => void
  readonly onRun: (place: RunPlace) => void
  readonly onRunAll: () => void
  readonly complete: CompleteSql
}

export interface EditorHandle {
  /** Shows a text; one of another key with its own history of changes. */
  readonly show: (key: string, text: string) => void
  readonly mark: (marks: readonly EditorMark[]) => void
  /** Puts a text where the cursor is, and the cursor behind it. */
  readonly insert: (text: string) => void
  readonly selection: () => RunPlace
  /** Goes there. */
  readonly goTo: (at: number) => void
  readonly focus: () => void
  readonly close: () => void
}

/** Changes that an owner may be behind. */
const TOLD_MAX = 200

export function openEditor(host: HTMLElement, options: EditorOptions): EditorHandle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true })
  const extensions = extensionsOf(options)
  const kept = new Map<string, EditorState>()
  let shown = { key: '', text: '' }
  /** What was told of this text, which may come back late while somebody types on. */
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
    focus: () => view.focus(),
    close: () => view.destroy(),
  }
}

function selectionOf(state: EditorState): RunPlace {
  const { from, to } = state.selection.main
  return { from, to }
}

function extensionsOf(options: EditorOptions): Extension {
  const run = (view: EditorView) => {
    // What it would cover is the result.
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
    EditorState.readOnly.of(options.isReadOnly),
    placeholder(options.placeholder),
    // Escape sets its own: the next Tab leaves.
    keymap.of([
      { key: 'Tab', run: acceptCompletion },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      indentWithTab,
    ]),
    options.language === 'json' ? jsonExtensions() : sqlExtensions(options.complete),
    EDITOR_THEME,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label': options.label,
      'aria-multiline': 'true',
      spellcheck: 'false',
    }),
  ]
}

/**
 * Chromium carries the colour of what is typed over along, as a style within the element, which the policy of the page
 * refuses with an error on the console. So the editor puts the text there, as it does after it has read what the browser
 * put there. What is composed of several keys stays the browser's.
 */
const TYPED_OVER: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing, cancelable } = event
    if (inputType !== 'insertText' || data === null || isComposing || !cancelable) return false
    if (view.composing || view.state.readOnly || view.state.selection.main.empty) return false
    const { from, to } = view.state.selection.main
    const insert = () => {
      const change = view.state.replaceSelection(data)
      return view.state.update(change, { userEvent: 'input.type', scrollIntoView: true })
    }
    // Such as the bracket that closes one.
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert())
    event.preventDefault()
    return true
  },
})

function jsonExtensions(): Extension {
  const parse = jsonParseLinter()
  return [json(), linter((view) => (view.state.doc.length === 0 ? [] : parse(view)))]
}

function sqlExtensions(complete: CompleteSql): Extension {
  const source = ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const found = complete(state.doc.toString(), pos)
    if (found === undefined || found.options.length === 0) return null
    if (!explicit && found.from === pos && !found.isExpected) return null
    const options = found.options.map(
      ({ label, insert, kind, detail, info, rank }): Completion => ({
        label,
        type: kind,
        apply: insert ?? label,
        boost: rank ?? 0,
        ...(detail === undefined ? {} : { detail }),
        ...(info === undefined ? {} : { info }),
      }),
    )
    return { from: found.from, options, validFor: /^[\p{L}\p{N}_$"]*$/u }
  }
  return [
    SQL_LANGUAGE,
    parameterMarks,
    autocompletion({ override: [source], icons: false, maxRenderedOptions: 60 }),
  ]
}

/** Words of statements that DuckDB and Eider have and PostgreSQL has not. */
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

/** `:name` is a parameter, `::name` a type: the language tells them not apart. */
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
