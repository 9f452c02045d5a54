//! Checks a tablespace: `check FILE.ibd [FILE.cfg]`.
#![allow(clippy::print_stdout, missing_docs)]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let bytes = std::fs::read(&args[0]).unwrap();
    let mut layouts = Vec::new();
    if let Some(cfg) = args.get(1) {
        let e = innodb::Exported::read(&std::fs::read(cfg).unwrap()).unwrap();
        for i in &e.indexes {
            layouts.push(innodb::Layout::of(&e, i).unwrap());
        }
    }
    let r = innodb::check(&mut &bytes[..], &layouts).unwrap();
    println!("{r:#?}");
}
