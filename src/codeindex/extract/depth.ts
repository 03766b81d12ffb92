/** Brackets inside brackets: a native parser's stack ends at about 2,500 in a worker thread. */
const MAX_BRACKETS = 1_000;
/** Operators and keywords that each hold all that follows (`a ? b : c ? d : …`): the stack ends at about 5,000. */
const MAX_RUN = 2_000;

/**
 * Whether a source nests so deeply that parsing it could overflow the native stack, which ends the process and cannot
 * be caught. It looks at characters, not at syntax: what it lets through is far below the limit, and what
 * it stops (a thousand open brackets, be it in a string) is no code that a person wrote. A source that is made to get
 * past it costs the process that parses it, which is there for nothing else (`parsing/parser.ts`).
 */
export function isTooDeep(source: string, mayHaveJsx: boolean): boolean {
	// Nothing so short can nest that deeply.
	if (source.length < MAX_BRACKETS) return false;
	const runs = new Uint32Array(MAX_BRACKETS + 1);
	const runsOn = () => ++(runs[depth] as number) > MAX_RUN;
	let depth = 0;
	let tags = 0;
	// A keyword takes three characters with what follows it. Most files are too short for a run of them, or have too few
	// words: to count all takes far less time than to look at each.
	const mayRunOnWords = source.length > 3 * MAX_RUN && wordsIn(source) > MAX_RUN;
	for (let at = 0; at < source.length; at++) {
		const char = source.charCodeAt(at);
		if (char > TILDE || (PLAIN[char] && !mayRunOnWords)) continue;
		switch (char) {
			case OPEN_PAREN:
			case OPEN_SQUARE:
			case OPEN_CURLY:
				if (++depth > MAX_BRACKETS) return true;
				runs[depth] = 0;
				break;
			case CLOSE_PAREN:
			case CLOSE_SQUARE:
			case CLOSE_CURLY:
				if (depth > 0) depth--;
				break;
			case SEMICOLON:
				if (!elseFollows(source, at + 1)) runs[depth] = 0;
				tags = 0;
				break;
			case COMMA:
				runs[depth] = 0;
				break;
			case NEWLINE:
				if (runs[depth] && beginsOperand(source, at + 1) && endsOperand(before(source, at))) {
					runs[depth] = 0;
				}
				break;
			case LESS: {
				const next = source.charCodeAt(at + 1);
				if (next === SLASH) tags--;
				else if (mayHaveJsx && isWord(next) && ++tags > MAX_RUN) return true;
				break;
			}
			case GREATER:
				if (source.charCodeAt(at - 1) === SLASH) tags--;
				break;
			case PLUS:
			case MINUS:
				// Between operands they nest to the left, which takes no stack.
				if (!endsOperand(before(source, at)) && runsOn()) return true;
				break;
			case EQUALS:
				// Attributes of elements are many; what they hold is in brackets or ends at once.
				if (!isHeld(source.charCodeAt(at + 1)) && runsOn()) return true;
				break;
			case QUESTION:
			case COLON:
			case BANG:
			case TILDE:
				if (runsOn()) return true;
				break;
			default:
				if (isWord(char) && !isWord(source.charCodeAt(at - 1)) && isPrefix(source, at)) {
					if (runsOn()) return true;
				}
		}
	}
	return false;
}

const PREFIX =
	/(?:if|else|for|while|do|with|new|typeof|await|void|delete|keyof|yield|infer|extends|asserts|readonly|unique)\b/y;
const ELSE = /\s*else\b/y;

function wordsIn(source: string): number {
	let words = 0;
	let wasWord = 0;
	for (let at = 0; at < source.length; at++) {
		const char = source.charCodeAt(at);
		const isWord = char > TILDE ? 1 : (WORD[char] as number);
		words += isWord & ~wasWord;
		wasWord = isWord;
	}
	return words;
}

function isPrefix(source: string, at: number): boolean {
	PREFIX.lastIndex = at;
	return PREFIX.test(source);
}

function elseFollows(source: string, at: number): boolean {
	let next = at;
	while (source.charCodeAt(next) <= SPACE) next++;
	const char = source.charCodeAt(next);
	// Seen without a regular expression: statements end all the time.
	if (char <= TILDE && char !== SMALL_E) return false;
	ELSE.lastIndex = at;
	return ELSE.test(source);
}

/** The last character before a place that is no space. */
function before(source: string, at: number): number {
	let last = at - 1;
	while (last > 0 && source.charCodeAt(last) <= SPACE) last--;
	return source.charCodeAt(last);
}

function isHeld(char: number): boolean {
	return char === OPEN_CURLY || QUOTES.has(char);
}

/** A word, a string or a closed bracket; not a parenthesis, after which a nested statement may follow. */
function endsOperand(char: number): boolean {
	return isWord(char) || char === CLOSE_SQUARE || char === CLOSE_CURLY || QUOTES.has(char);
}

function beginsOperand(source: string, at: number): boolean {
	let next = at;
	while (source.charCodeAt(next) === SPACE || source.charCodeAt(next) === TAB) next++;
	return isWord(source.charCodeAt(next)) && !elseFollows(source, next);
}

function isWord(char: number): boolean {
	return (
		(char >= 97 && char <= 122) ||
		(char >= 65 && char <= 90) ||
		(char >= 48 && char <= 57) ||
		char === 95 ||
		char === 36 ||
		char > 127
	);
}

const [TAB, NEWLINE, SPACE] = [9, 10, 32];
const [BANG, PLUS, COMMA, MINUS, SLASH] = [33, 43, 44, 45, 47];
const [COLON, SEMICOLON, LESS, EQUALS, GREATER, QUESTION] = [58, 59, 60, 61, 62, 63];
const [OPEN_PAREN, CLOSE_PAREN, OPEN_SQUARE, CLOSE_SQUARE] = [40, 41, 91, 93];
const [SMALL_E, OPEN_CURLY, CLOSE_CURLY, TILDE] = [101, 123, 125, 126];
const QUOTES = new Set([34, 39, 96]);
// Letters, digits and spaces say nothing by themselves.
const PLAIN = Uint8Array.from({ length: 127 }, (_, char) =>
	/[\w$ \t\r]/.test(String.fromCharCode(char)) ? 1 : 0,
);
const WORD = Uint8Array.from({ length: 127 }, (_, char) => (isWord(char) ? 1 : 0));
