//! The library in a page: make a data file, train, keep the model, load it, predict.
//!
//! Run it with `cargo run --release -p lazyglm --example spam`.

use lazyglm::{Dataset, Declared, ElasticNet, Model, Output, Scorer, Settings, Task, train};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join("lazyglm-example-spam");
    std::fs::create_dir_all(&folder)?;
    let (file, kept) = (folder.join("mail.svm"), folder.join("mail.model"));

    // Feature 1: "free", 2: "meeting", 3: "the". The last says nothing, and elastic net finds out.
    let mail = "spam 1:2 3:1\nham 2:1 3:2\nspam 1:1 3:2\nham 2:2 3:1\n".repeat(200);
    std::fs::write(&file, mail)?;

    let task = Task::builder(Dataset::read(&file, Declared::default())?).build()?;
    let settings = Settings { penalty: ElasticNet::new(0.01, 0.0)?, ..Settings::default() };
    let trained = train(&task, None, &settings, &mut |_| {})?;
    println!(
        "objective {:.4}, {} of 3 weights are not zero",
        trained.report.objective, trained.report.nonzeros
    );
    Model::new(&task, &settings, trained).save(&kept)?;

    let model = Model::load(&kept)?;
    for (feature, weight) in model.features.iter().zip(&model.weights) {
        println!("feature {feature}: {weight:+.3}");
    }
    let mut scorer = Scorer::new(&model);
    lazyglm::data::dataset::for_each_block(&file, &Default::default(), Some(&model.reading), |block| {
        scorer.set_block(block)?;
        let score = scorer.score(block.rows.borrow(), 0);
        println!("first mail: {:?}", model.predict(score, Output::Target)?);
        Ok(())
    })?;
    Ok(())
}
