import type { ComponentChildren, ComponentProps } from "preact";
import { PlainText } from "./text.tsx";

interface ButtonProps extends Omit<ComponentProps<"button">, "children"> {
	words: ComponentChildren;
}

/** A button of a few words; `type="submit"` sends its form. */
export function Button({ words, type = "button", ...attributes }: ButtonProps) {
	return (
		<button type={type} {...attributes}>
			{words}
		</button>
	);
}

interface TextButtonProps extends Omit<ButtonProps, "words"> {
	text: string;
	most?: number;
}

/** A button of untrusted text; it looks like a link unless another class is given. */
export function TextButton({ text, most = 400, ...attributes }: TextButtonProps) {
	return <Button class="link" {...attributes} words={<PlainText text={text} most={most} />} />;
}
