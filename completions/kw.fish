# fish completion for kw; made by `kw completion fish`
function __kw_complete
    set -l tokens (commandline -opc)
    set -l word (commandline -ct | string collect)
    set -l program kw
    string match -q '*/*' -- $tokens[1]; and set program $tokens[1]
    string match -q '~/*' -- $tokens[1]; and set program $HOME(string sub -s 2 -- $tokens[1])
    set -l locale (string match -v '' -- $LC_ALL $LC_CTYPE $LANG C)
    set -l state (string match -r '^[\'"]' -- $word)
    set -l plain (string unescape -- $word | string collect)
    set -l answer (env LC_ALL=$locale[1] $program __complete fish "$state" $tokens[2..-1] "$plain" 2> /dev/null)
    set -l kind (string split -m 1 \t -- $answer[1])
    if test "$kind[1]" = files
        __kw_files $locale[1] "$word" $kind[2]
    else
        string join \n -- $answer[2..-1]
    end
end
function __kw_files  # fish's own names of files; $argv: locale, word, and its part before the name
    set -l word $argv[2]
    set -l sign (string sub -s -1 -- $argv[3])
    test -n "$sign"; and set word (string replace -r '^(["\']?).*?'$sign '$1' -- $word | string collect)
    for file in (complete -C "'' $word" | string replace -r '\t.*' '')
        if not string match -qr '^[~$]' -- "$word"
            test -e $file; or test -L $file; or continue  # a line of a name with several
            string match -q '~*' -- $file; and set file ./$file
        end
        # fish draws names as they are: those without control characters and bytes that are no text, U+F6xx to fish
        if string match -qri '^(C|POSIX)$|utf-?8' -- $argv[1]
            string match -rv '[\x00-\x1f\x7f-\x9f\x{f600}-\x{f6ff}]' -- $argv[3]$file
        else  # a sign may be a part of a character, and is run (GBK, Big5)
            string match -r '^[\x20-\x7e]*$' -- $argv[3]$file
        end
    end
end
complete -c kw -f -k -a '(__kw_complete)'
