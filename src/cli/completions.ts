import { type Command, UsageError } from "./command.ts";

interface Listed {
	readonly name: string;
	readonly summary: string;
	load(): Promise<Command>;
}

interface Completed {
	readonly name: string;
	readonly summary: string;
	readonly options: readonly string[];
	/** Empty where the shell completes files. */
	readonly words: readonly string[];
}

const SHELLS = ["bash", "zsh", "fish"] as const;

/** Generated from the table of commands, so that the script is complete. */
export function completionsOf(listed: () => readonly Listed[]): Command {
	return {
		name: "completions",
		usage: "bash|zsh|fish",
		details: [
			"",
			"Prints a script that completes the commands and options of strata:",
			"  bash  echo 'source <(strata completions bash)' >> ~/.bashrc",
			"  zsh   strata completions zsh > a folder of your $fpath, as _strata",
			"  fish  strata completions fish > ~/.config/fish/completions/strata.fish",
		],
		options: {},
		maxArguments: 1,
		words: SHELLS,
		async run(_options, [shell], terminal) {
			const found = SHELLS.find((one) => one === shell);
			if (!found) {
				const what = shell === undefined ? "no shell given" : `unknown shell "${shell}"`;
				throw new UsageError(`${what}; known: ${SHELLS.join(", ")}`);
			}
			const commands = await Promise.all(listed().map(completed));
			const help = {
				...{ name: "help", summary: "Print the usage of a command.", options: [] },
				words: commands.map(({ name }) => name),
			};
			terminal.print(SCRIPTS[found]([...commands, help]));
			return 0;
		},
	};
}

async function completed({ name, summary, load }: Listed): Promise<Completed> {
	const { options, words = [] } = await load();
	const names = [...Object.keys(options), "help"].map((one) => `--${one}`);
	return { name, summary, options: names, words };
}

const SCRIPTS: Readonly<
	Record<(typeof SHELLS)[number], (commands: readonly Completed[]) => string>
> = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** Words that are no option are files, as the shell completes them. */
function bashScript(commands: readonly Completed[]): string {
	return [
		"_strata() {",
		`\tlocal word="\${COMP_WORDS[COMP_CWORD]}"`,
		"\tCOMPREPLY=()",
		'\tif [ "$COMP_CWORD" -eq 1 ]; then',
		`\t\tCOMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$word"))`,
		"\t\treturn",
		"\tfi",
		`\tcase "\${COMP_WORDS[1]} $COMP_CWORD" in`,
		...commands.flatMap(({ name, words }) =>
			words.length === 0
				? []
				: `\t"${name} 2") COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$word")) ;;`,
		),
		"\tesac",
		'\t[[ "$word" == -* ]] || return',
		`\tcase "\${COMP_WORDS[1]}" in`,
		...commands.map(
			({ name, options }) =>
				`\t${name}) COMPREPLY=($(compgen -W "${options.join(" ")}" -- "$word")) ;;`,
		),
		"\tesac",
		"}",
		"complete -o default -F _strata strata pi-strata",
	].join("\n");
}

function zshScript(commands: readonly Completed[]): string {
	const described = commands.map(({ name, summary }) => `\t\t'${name}:${quoted(summary)}'`);
	return [
		"#compdef strata pi-strata",
		"_strata() {",
		"\tlocal -a commands",
		"\tcommands=(",
		...described,
		"\t)",
		"\tif (( CURRENT == 2 )); then",
		"\t\t_describe command commands",
		"\t\treturn",
		"\tfi",
		`\tif [[ \${words[CURRENT]} == -* ]]; then`,
		`\t\tcase \${words[2]} in`,
		...commands.map(({ name, options }) => `\t\t${name}) compadd -- ${options.join(" ")} ;;`),
		"\t\tesac",
		"\telse",
		`\t\tcase "\${words[2]} $CURRENT" in`,
		...commands.flatMap(({ name, words }) =>
			words.length === 0 ? [] : `\t\t"${name} 3") compadd -- ${words.join(" ")} ;;`,
		),
		"\t\t*) _files ;;",
		"\t\tesac",
		"\tfi",
		"}",
		'if [ "$funcstack[1]" = "_strata" ]; then _strata "$@"; else compdef _strata strata pi-strata; fi',
	].join("\n");
}

function fishScript(commands: readonly Completed[]): string {
	const lines = commands.flatMap(({ name, summary, options, words }) => [
		...(words.length === 0
			? []
			: [
					`complete -c strata -n '__fish_seen_subcommand_from ${name}; and test (count (commandline -opc)) -eq 2' -f -a '${words.join(" ")}'`,
				]),
		`complete -c strata -n __fish_use_subcommand -f -a ${name} -d '${summary.replaceAll("'", "")}'`,
		...options.map(
			(option) =>
				`complete -c strata -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)}`,
		),
	]);
	return [...lines, "complete -c pi-strata -w strata"].join("\n");
}

function quoted(text: string): string {
	return text.replaceAll("'", "").replaceAll(":", "\\:");
}
